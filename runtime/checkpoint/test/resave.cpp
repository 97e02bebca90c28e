// resave MANIFEST.json MODEL DIR: the ranks of a compiled program, as threads, hold its parameters as MODEL
// has them and save them as a training run would; then DIR is opened and verified. For tests of the
// importer's maps (test/Integration/check_save.py).
#include "ThreadPlane.h"
#include "tessera/runtime/checkpoint/Checkpoint.h"
#include "tessera/runtime/core/Error.h"
#include "tessera/runtime/core/ShardReader.h"

#include <cstdio>
#include <thread>

using namespace tessera;
using namespace tessera::checkpoint;
using runtime::check;
using runtime::take;

namespace {
Status saveAs(int64_t rank, test::Meeting &meeting, const runtime::Manifest &manifest,
              const io::ModelFile &model, const std::string &folder) {
  test::ThreadPlane plane(meeting, rank);
  std::vector<char> held;
  auto piece = [&](int64_t number, int64_t layer) -> const void * {
    const runtime::ParamSpec &param = manifest.params[size_t(number)];
    runtime::ShardReader reader(param, int64_t(param.shape.empty() ? 0 : 1), manifest.mesh, rank, model);
    held.resize(size_t(io::bytesOf(param.dtype, reader.rows() * reader.columns())));
    reader.readAs(param.dtype, layer, 0, reader.rows(), held.data());
    return held.data();
  };
  SaveRequest request;
  request.place.step = 1;
  request.files.push_back({weightsName, &manifest.params, piece});
  if (rank == 0)
    request.texts = take(textsBeside(model.path()));
  return Store(folder, 1).save(request, manifest.mesh, plane);
}

void resave(const std::string &manifestPath, const std::string &modelPath, const std::string &folder) {
  std::string text;
  if (realFiles().read(manifestPath, text))
    throw runtime::Error("cannot read manifest", manifestPath, "it is not there");
  const runtime::Manifest manifest = runtime::Manifest::parse(text);
  auto model = take(io::ModelFile::open(modelPath));
  test::Meeting meeting(manifest.mesh.size());
  std::vector<Status> results(size_t(manifest.mesh.size()));
  std::vector<std::thread> ranks;
  for (int64_t rank = 0; rank < manifest.mesh.size(); ++rank)
    ranks.emplace_back(
        [&, rank] { results[size_t(rank)] = saveAs(rank, meeting, manifest, *model, folder); });
  for (std::thread &rank : ranks)
    rank.join();
  for (const Status &result : results)
    check(result);
  auto save = take(Checkpoint::open(folder));
  check(save->verify());
  check(save->checkModel(weightsName, manifest.params));
}
} // namespace

int main(int argc, char **argv) {
  if (argc != 4) {
    std::fprintf(stderr, "error: resave takes MANIFEST.json MODEL DIR\n");
    return 1;
  }
  try {
    resave(argv[1], argv[2], argv[3]);
  } catch (const std::exception &e) {
    std::fprintf(stderr, "error: %s\n", runtime::messageOf(e).c_str());
    return 1;
  }
  return 0;
}
