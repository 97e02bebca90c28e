#include "CommConformance.h"
#include "tessera/runtime/core/Sends.h"

#include <cstring>
#include <gtest/gtest.h>

namespace tessera::runtime {

Manifest conformanceManifest(const Mesh &mesh) {
  Manifest m;
  m.mesh = mesh;
  m.groups.push_back({}); // one member
  AxisList all, reversed;
  for (const MeshAxis &axis : mesh.axes()) {
    m.groups.push_back({{axis.name, 1, axis.size}});
    all.push_back({axis.name, 1, axis.size});
    reversed.insert(reversed.begin(), all.back());
    if (axis.size % 2 == 0 && axis.size > 2) {
      m.groups.push_back({{axis.name, 1, 2}});
      m.groups.push_back({{axis.name, 2, axis.size / 2}});
      m.groups.push_back({{axis.name, 2, axis.size / 2}, {axis.name, 1, 2}});
    }
  }
  m.groups.push_back(all);
  m.groups.push_back(reversed);
  for (size_t g = 0; g < m.groups.size(); ++g) {
    int64_t size = shardCount(m.groups[g]);
    auto add = [&](CollectiveKind kind, Shape shape, int64_t dim = 0, int64_t dim2 = 0,
                   ReduceOp op = ReduceOp::Sum, io::DType type = io::DType::F32) {
      CollectiveSpec c;
      c.kind = kind, c.op = op, c.type = type, c.group = int64_t(g), c.shape = std::move(shape), c.dim = dim,
      c.dim2 = dim2;
      if (kind == CollectiveKind::CollectivePermute) // a ring without its last link: member 0 gets zeros
        for (int64_t i = 0; i + 1 < size; ++i)
          c.pairs.emplace_back(i, i + 1);
      m.collectives.push_back(std::move(c));
    };
    // Odd sizes, one element, nothing at all, more than one cache line, more than a message's eager limit.
    for (Shape shape : {Shape{7}, Shape{1}, Shape{0}, Shape{3, 5, 11}, Shape{2, 9000}}) {
      add(CollectiveKind::AllReduce, shape);
      add(CollectiveKind::AllReduce, shape, 0, 0, ReduceOp::Max);
      add(CollectiveKind::AllReduce, shape, 0, 0, ReduceOp::Sum, io::DType::I32);
      add(CollectiveKind::AllReduce, shape, 0, 0, ReduceOp::Max, io::DType::I32);
      add(CollectiveKind::AllReduce, shape, 0, 0, ReduceOp::Sum, io::DType::I64);
      add(CollectiveKind::AllReduce, shape, 0, 0, ReduceOp::Max, io::DType::I64);
      for (io::DType type : {io::DType::BF16, io::DType::F16}) {
        add(CollectiveKind::AllReduce, shape, 0, 0, ReduceOp::Sum, type);
        add(CollectiveKind::AllReduce, shape, 0, 0, ReduceOp::Max, type);
      }
      add(CollectiveKind::CollectivePermute, shape);
      bool big = elementCount(shape) > 1000; // slow to check
      for (int64_t dim = big ? 1 : 0; dim < int64_t(shape.size()); ++dim)
        if (!big || m.groups[g].size() == mesh.axes().size())
          add(CollectiveKind::AllGather, shape, dim);
    }
    for (int64_t dim = 0; dim < 3; ++dim) {
      Shape shape = {3, 5, 4};
      shape[dim] *= size;
      add(CollectiveKind::ReduceScatter, shape, dim);
      add(CollectiveKind::ReduceScatter, shape, dim, 0, ReduceOp::Max, io::DType::I32);
      add(CollectiveKind::ReduceScatter, shape, dim, 0, ReduceOp::Max, io::DType::I64);
      for (int64_t dim2 = 0; dim2 < 3; ++dim2) {
        add(CollectiveKind::AllToAll, shape, dim, dim2);
        add(CollectiveKind::AllToAll, shape, dim, dim2, ReduceOp::Sum, io::DType::I64);
      }
      add(CollectiveKind::AllGather, shape, dim, 0, ReduceOp::Sum, io::DType::I64);
      add(CollectiveKind::AllGather, shape, dim, 0, ReduceOp::Sum, io::DType::BF16);
      add(CollectiveKind::ReduceScatter, shape, dim, 0, ReduceOp::Sum, io::DType::F16);
    }
    // From pieces of the first dimension to whole tensors, to pieces of another dimension, to pieces of the same over axes in another order; rows
    // that do not divide, fewer than ranks, none at all, more than a message's eager limit.
    AxisList from = m.groups[g], turned(from.rbegin(), from.rend());
    auto send = [&](Shape global, Sharding to, io::DType type = io::DType::F32) {
      Sharding before(global.size());
      before[0] = from;
      add(CollectiveKind::GroupedSend, localShape(global, before), 0, 0, ReduceOp::Sum, type);
      CollectiveSpec &c = m.collectives.back();
      c.global = std::move(global), c.from = std::move(before), c.to = std::move(to);
    };
    for (Shape global : {Shape{7, 5}, Shape{2, 3}, Shape{1, 1}, Shape{0, 4}, Shape{13, 3000}})
      for (Sharding to : {Sharding{{}, {}}, Sharding{{}, from}, Sharding{turned, {}}, Sharding{all, {}}, Sharding{{}, reversed}})
        if (global[0] < 13 || from.size() == all.size()) // slow to check
          send(global, to);
    send({11}, {turned}, io::DType::I64);
    send({5, 2, 3}, {{}, turned, {}}, io::DType::I32);
    add(CollectiveKind::ReduceScatter, {size, 0}, 0);
    add(CollectiveKind::AllToAll, {0, size}, 1, 0);
    add(CollectiveKind::AllToAll, {3, 3000 * size}, 1, 0);
  }
  return m;
}

namespace {

// Values whose sums round differently in another order: a wrong order shows.
float value(int64_t rank, int64_t i) {
  uint32_t h = uint32_t(rank * 2654435761u + i * 40503u + 12345u);
  h ^= h >> 13, h *= 0x5bd1e995u, h ^= h >> 15;
  return (float(h % 20001) - 10000.0f) * (h & 64 ? 1.7e-3f : 3.1f);
}

// A 16-bit float. Sums of it are those of float, rounded once.
template <io::DType type> struct Narrow {
  Narrow(float value = 0) { io::traits(type).narrow(&value, 1, &bits); }
  operator float() const {
    float value;
    io::traits(type).widen(&bits, 1, &value);
    return value;
  }
  uint16_t bits;
};
using Half = Narrow<io::DType::F16>;
using BFloat16 = Narrow<io::DType::BF16>;
template <typename T> struct SumOf { using type = T; };
template <io::DType narrow> struct SumOf<Narrow<narrow>> { using type = float; };

template <typename T> T input(int64_t rank, int64_t i);
template <> Half input<Half>(int64_t rank, int64_t i) { return Half(value(rank, i)); }
template <> BFloat16 input<BFloat16>(int64_t rank, int64_t i) { return BFloat16(value(rank, i)); }
template <> float input<float>(int64_t rank, int64_t i) { return value(rank, i); }
template <> int32_t input<int32_t>(int64_t rank, int64_t i) { return int32_t(value(rank, i)); }
// Both halves matter: keys of arg max carry the value above and the id below.
template <> int64_t input<int64_t>(int64_t rank, int64_t i) {
  return int64_t(value(rank, i)) * 4294967296 + int64_t(value(i, rank));
}

Shape unflatten(int64_t i, const Shape &shape) {
  Shape index(shape.size());
  for (int64_t d = int64_t(shape.size()) - 1; d >= 0; --d)
    index[d] = i % shape[d], i /= shape[d];
  return index;
}
int64_t flatten(const Shape &index, const Shape &shape) {
  int64_t i = 0;
  for (size_t d = 0; d < shape.size(); ++d)
    i = i * shape[d] + index[d];
  return i;
}

// Shape of dst, and which (member, element of its src) each element of dst comes from; reductions give the
// element only.
template <typename T>
std::vector<T> expected(const CollectiveSpec &c, const std::vector<int64_t> &members, int64_t self, const Mesh &mesh) {
  int64_t size = int64_t(members.size());
  Shape shape = c.kind == CollectiveKind::GroupedSend ? localShape(c.global, c.to) : c.shape;
  if (c.kind == CollectiveKind::AllGather)
    shape[c.dim] *= size;
  if (c.kind == CollectiveKind::ReduceScatter || c.kind == CollectiveKind::AllToAll)
    shape[c.dim] /= size;
  if (c.kind == CollectiveKind::AllToAll)
    shape[c.dim2] *= size;
  std::vector<T> result(elementCount(shape));
  for (int64_t i = 0; i < int64_t(result.size()); ++i) {
    bool flat = c.kind == CollectiveKind::AllReduce || c.kind == CollectiveKind::CollectivePermute;
    Shape at = flat ? Shape() : unflatten(i, shape);
    switch (c.kind) {
    case CollectiveKind::AllReduce:
    case CollectiveKind::ReduceScatter: {
      if (c.kind == CollectiveKind::ReduceScatter)
        at[c.dim] += shape[c.dim] * self;
      int64_t from = flat ? i : flatten(at, c.shape);
      using Sum = typename SumOf<T>::type;
      Sum total = input<T>(members[0], from);
      for (int64_t r = 1; r < size; ++r) {
        Sum next = input<T>(members[r], from);
        total = c.op == ReduceOp::Sum ? total + next : std::max(total, next);
      }
      result[i] = total;
      break;
    }
    case CollectiveKind::AllGather: {
      int64_t member = at[c.dim] / c.shape[c.dim];
      at[c.dim] %= c.shape[c.dim];
      result[i] = input<T>(members[member], flatten(at, c.shape));
      break;
    }
    case CollectiveKind::AllToAll: {
      Shape block = c.shape; // what one member sends to another
      block[c.dim] /= size;
      int64_t member = at[c.dim2] / block[c.dim2];
      at[c.dim2] %= block[c.dim2];
      at[c.dim] += block[c.dim] * self;
      result[i] = input<T>(members[member], flatten(at, c.shape));
      break;
    }
    case CollectiveKind::CollectivePermute:
      result[i] = self == 0 ? T(0) : input<T>(members[self - 1], i);
      break;
    case CollectiveKind::GroupedSend: {
      bool padding = false;
      for (size_t d = 0; d < shape.size(); ++d) {
        at[d] += mesh.index(members[self], c.to[d]) * shape[d];
        padding |= at[d] >= c.global[d];
      }
      if (padding)
        break; // zero
      int64_t member = at[0] / c.shape[0]; // only the first dimension was split, in group order
      at[0] %= c.shape[0];
      result[i] = input<T>(members[member], flatten(at, c.shape));
      break;
    }
    }
  }
  return result;
}

template <typename T>
void checkOne(Communicator &comm, int32_t id, const CollectiveSpec &c, const Manifest &m, bool inPlace) {
  std::vector<int64_t> members = m.mesh.group(comm.rank(), m.groups[c.group]);
  int64_t self = m.mesh.index(comm.rank(), m.groups[c.group]);
  ASSERT_EQ(members[self], comm.rank());
  std::vector<T> src(elementCount(c.shape)), want = expected<T>(c, members, self, m.mesh);
  src.reserve(1); // pointers are never null, even to nothing
  want.reserve(1);
  for (size_t i = 0; i < src.size(); ++i)
    src[i] = input<T>(comm.rank(), int64_t(i));
  std::vector<T> before = src, dst(want.size() + 1, T(77));
  bool overwrite = inPlace && c.kind == CollectiveKind::AllReduce;
  comm.run(id, src.data(), overwrite ? src.data() : dst.data());
  const std::vector<T> &got = overwrite ? src : dst;
  ASSERT_EQ(memcmp(got.data(), want.data(), want.size() * sizeof(T)), 0)
      << "collective " << id << " " << kindName(c.kind) << " of " << toString(c.shape) << " dim " << c.dim
      << " dim2 " << c.dim2 << " on rank " << comm.rank();
  if (!overwrite) {
    ASSERT_EQ(src, before) << "collective " << id << " wrote to its source";
    ASSERT_EQ(dst.back(), T(77)) << "collective " << id << " wrote beyond its result";
  }
}

} // namespace

void runConformance(Communicator &comm, const Manifest &manifest) {
  comm.prepare(manifest);
  for (bool inPlace : {false, true})
    for (size_t id = 0; id < manifest.collectives.size(); ++id) {
      const CollectiveSpec &c = manifest.collectives[id];
      switch (c.type) {
      case io::DType::F16:
        checkOne<Half>(comm, int32_t(id), c, manifest, inPlace);
        break;
      case io::DType::BF16:
        checkOne<BFloat16>(comm, int32_t(id), c, manifest, inPlace);
        break;
      default:
        FAIL() << "no test of " << io::dtypeName(c.type);
      case io::DType::F32:
        checkOne<float>(comm, int32_t(id), c, manifest, inPlace);
        break;
      case io::DType::I32:
        checkOne<int32_t>(comm, int32_t(id), c, manifest, inPlace);
        break;
      case io::DType::I64:
        checkOne<int64_t>(comm, int32_t(id), c, manifest, inPlace);
        break;
      }
    }
  comm.barrier();
  for (int64_t root = 0; root < comm.ranks(); ++root)
    for (size_t count : {0, 1, 3, 40000}) {
      std::vector<int32_t> data(count), all(comm.rank() == root ? count * comm.ranks() : 0);
      data.reserve(1);
      all.reserve(1);
      for (size_t i = 0; i < count; ++i)
        data[i] = int32_t(comm.rank() * 100000 + i);
      comm.gather(data.data(), count * 4, all.data(), root);
      for (size_t i = 0; i < all.size(); ++i)
        ASSERT_EQ(all[i], int32_t(i / count * 100000 + i % count));
      comm.broadcast(data.data(), count * 4, root);
      for (size_t i = 0; i < count; ++i)
        ASSERT_EQ(data[i], int32_t(root * 100000 + i));
    }
}

} // namespace tessera::runtime
