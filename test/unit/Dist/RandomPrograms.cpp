//===- RandomPrograms.cpp - Small programs drawn at random ----------------===//
#include "RandomPrograms.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <map>
#include <random>
#include <vector>

using namespace tessera::test;

namespace {
using Dims = std::vector<std::string>;

struct Value {
  std::string name;
  Dims dims;
};

class Drawer {
public:
  explicit Drawer(uint64_t seed) : random(seed) {}

  RandomProgram draw() {
    for (const char *dim : {"batch", "rows", "hidden", "ffn", "heads"})
      sizes[dim] = 1 + int(pick(7));
    sizes["layer"] = 2 + int(pick(3));
    size_t inputs = 1 + pick(2);
    for (size_t i = 0; i < inputs; ++i)
      values.push_back(argument(drawDims(2 + pick(2)), "input"));
    size_t steps = 3 + pick(8);
    for (size_t i = 0; i < steps; ++i)
      step();
    // Everything that nobody read is a result.
    std::string results, types, attributes;
    for (const Value &value : values)
      if (!read[value.name]) {
        results += (results.empty() ? "" : ", ") + value.name;
        types += (types.empty() ? "" : ", ") + type(value.dims);
      }
    RandomProgram program;
    program.text = "func.func @f(" + llvm::join(arguments, ", ") + ") -> (" + types + ") {\n" + body + "  return " + results + " : " +
                   types + "\n}\n";
    drawMesh(program);
    return program;
  }

private:
  size_t pick(size_t n) { return size_t(random() % n); }
  const std::string &pickOf(const Dims &list) { return list[pick(list.size())]; }
  const Value &pickValue(size_t leastRank = 1) {
    std::vector<const Value *> fitting;
    for (const Value &value : values)
      if (value.dims.size() >= leastRank)
        fitting.push_back(&value);
    const Value &value = fitting.empty() ? values.front() : *fitting[pick(fitting.size())];
    read[value.name] = true;
    return value;
  }
  Dims drawDims(size_t rank) {
    Dims all = {"batch", "rows", "hidden", "ffn", "heads"}, dims;
    std::shuffle(all.begin(), all.end(), random);
    dims.assign(all.begin(), all.begin() + long(rank));
    return dims;
  }
  std::string type(const Dims &dims) const {
    std::string text = "tensor<";
    for (const std::string &dim : dims)
      text += std::to_string(sizes.at(dim)) + "x";
    return text + "f32>";
  }
  Value argument(const Dims &dims, llvm::StringRef kind) {
    std::string name = "%a" + std::to_string(arguments.size()), list;
    for (const std::string &dim : dims)
      list += (list.empty() ? "\"" : ", \"") + dim + "\"";
    arguments.push_back(llvm::formatv("{0}: {1} {{graph.kind = \"{2}\", graph.name = \"{3}\", graph.dims = [{4}]}", name, type(dims),
                                      kind, name.substr(1), list));
    return {name, dims};
  }
  Value emit(const std::string &text, const Dims &dims) {
    Value value = {"%" + std::to_string(count++), dims};
    body += indent + value.name + " = " + text + "\n";
    values.push_back(value);
    return value;
  }
  std::string functionType(std::initializer_list<Dims> from, const Dims &to) const {
    std::string text;
    for (const Dims &dims : from)
      text += (text.empty() ? "(" : ", ") + type(dims);
    return text + ") -> " + type(to);
  }

  void unary(Value x) {
    const char *ops[] = {"relu", "tanh", "neg", "silu", "abs"};
    emit(llvm::formatv("graph.{0} {1} : {2}", ops[pick(5)], x.name, type(x.dims)), x.dims);
  }
  void binary(Value x, Value y) {
    const char *ops[] = {"add", "mul", "sub", "maximum"};
    emit(llvm::formatv("graph.{0} {1}, {2} : {3}", ops[pick(4)], x.name, y.name, functionType({x.dims, y.dims}, x.dims)), x.dims);
  }
  /// Contracts the last dimension; the weight's rows take a dimension that x lacks.
  void linear(Value x, llvm::StringRef kind) {
    Dims free;
    for (const char *dim : {"batch", "rows", "hidden", "ffn", "heads"})
      if (!llvm::is_contained(x.dims, dim))
        free.push_back(dim);
    if (free.empty())
      return unary(x);
    std::string out = pickOf(free);
    Value w = argument({out, x.dims.back()}, kind);
    Dims dims(x.dims.begin(), x.dims.end() - 1);
    dims.push_back(out);
    emit(llvm::formatv("graph.linear {0}, {1} contract = 1 : {2}", x.name, w.name, functionType({x.dims, w.dims}, dims)), dims);
  }
  void reduce(Value x) {
    size_t d = pick(x.dims.size());
    Dims dims = x.dims;
    dims.erase(dims.begin() + long(d));
    emit(llvm::formatv("graph.reduce {0} {1} dims = [{2}] : {3}", pick(2) ? "sum" : "max", x.name, d, functionType({x.dims}, dims)),
         dims);
  }
  void transpose(Value x) {
    std::vector<size_t> order;
    for (size_t i = 0; i < x.dims.size(); ++i)
      order.push_back(i);
    std::shuffle(order.begin(), order.end(), random);
    Dims dims;
    std::string list;
    for (size_t i : order) {
      dims.push_back(x.dims[i]);
      list += (list.empty() ? "" : ", ") + std::to_string(i);
    }
    emit(llvm::formatv("graph.transpose {0} [{1}] : {2}", x.name, list, functionType({x.dims}, dims)), dims);
  }
  void norm(Value x) {
    if (pick(2))
      return (void)emit(llvm::formatv("graph.softmax {0} : {1}", x.name, type(x.dims)), x.dims);
    Value w = argument({x.dims.back()}, "parameter");
    emit(llvm::formatv("graph.rms_norm {0}, {1} eps = 1.0e-5 : {2}", x.name, w.name, functionType({x.dims, w.dims}, x.dims)), x.dims);
  }
  /// Merges the last two dimensions and splits them again: a reshape both ways.
  void reshape(Value x) {
    std::string merged = "tensor<";
    for (size_t i = 0; i + 2 < x.dims.size(); ++i)
      merged += std::to_string(sizes[x.dims[i]]) + "x";
    merged += std::to_string(sizes[x.dims[x.dims.size() - 2]] * sizes[x.dims.back()]) + "xf32>";
    std::string name = "%m" + std::to_string(count++);
    body += llvm::formatv("{0}{1} = graph.reshape {2} : ({3}) -> {4}\n", indent, name, x.name, type(x.dims), merged).str();
    body += llvm::formatv("{0}{1}r = graph.tanh {1} : {2}\n", indent, name, merged).str();
    emit(llvm::formatv("graph.reshape {0}r : ({1}) -> {2}", name, merged, type(x.dims)), x.dims);
  }
  /// A few layers: carries x, reads a stacked vector and a stacked square weight.
  void repeat(Value x) {
    Value v = argument({"layer", x.dims.back()}, "parameter");
    std::string layers = std::to_string(sizes["layer"]), last = std::to_string(sizes[x.dims.back()]), carried = type(x.dims);
    std::string h = "%h" + std::to_string(count), w = "%w" + std::to_string(count), i = "%i" + std::to_string(count),
                y = "%y" + std::to_string(count), z = "%z" + std::to_string(count);
    std::string vector = "tensor<" + last + "xf32>";
    emit(llvm::formatv("graph.repeat {0} carry({1} : {2}) stack({3} : {4}) -> ({2}) {{\n  ^bb0({5}: tensor<i32>, {6}: {2}, {7}: {8}):\n"
                       "    {9} = graph.mul {6}, {7} : ({2}, {8}) -> {2}\n",
                       layers, x.name, carried, v.name, type(v.dims), i, h, w, vector, y)
                 .str() +
             llvm::formatv("    {0} = graph.tanh {1} : {2}\n    graph.yield {0} : {2}\n  }", z, y, carried).str(),
         x.dims);
  }

  void step() {
    switch (pick(10)) {
    case 0:
      return unary(pickValue());
    case 1: { // two values of the same dimensions
      Value x = pickValue();
      for (const Value &y : values)
        if (y.dims == x.dims && y.name != x.name) {
          Value other = y;
          read[other.name] = true;
          return binary(x, other);
        }
      return binary(x, x);
    }
    case 2: {
      Value x = pickValue();
      return binary(x, argument({x.dims.back()}, "parameter"));
    }
    case 3:
    case 4:
      return linear(pickValue(), "parameter");
    case 5:
      return linear(pickValue(), "input"); // no zeros in its padding
    case 6:
      return reduce(pickValue(2));
    case 7:
      return transpose(pickValue());
    case 8:
      return norm(pickValue());
    default: {
      Value x = pickValue(2);
      return x.dims.size() < 2 ? unary(x) : pick(2) ? reshape(x) : repeat(x);
    }
    }
  }

  void drawMesh(RandomProgram &program) {
    Dims used;
    for (const std::string &text : arguments)
      for (const char *dim : {"batch", "rows", "hidden", "ffn", "heads"})
        if (text.find("\"" + std::string(dim) + "\"") != std::string::npos && !llvm::is_contained(used, dim))
          used.push_back(dim);
    size_t axes = 1 + pick(3);
    std::map<std::string, std::string> shard;
    for (size_t i = 0; i < axes; ++i) {
      std::string axis(1, char('a' + i));
      program.mesh += (i ? "," : "") + axis + "=" + std::to_string(2 + pick(3));
      std::string &item = shard[pickOf(used)];
      item += (item.empty() ? "" : "+") + axis;
    }
    for (auto &[dim, list] : shard)
      program.shard += (program.shard.empty() ? "" : ",") + dim + "=" + list;
  }

  std::mt19937_64 random;
  std::map<std::string, int> sizes;
  std::vector<Value> values;
  std::map<std::string, bool> read;
  std::vector<std::string> arguments;
  std::string body, indent = "  ";
  int count = 0;
};
} // namespace

RandomProgram tessera::test::drawProgram(uint64_t seed) { return Drawer(seed).draw(); }
