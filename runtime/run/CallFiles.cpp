#include "tessera/runtime/io/ModelFile.h"
#include "tessera/runtime/io/SafetensorsWriter.h"
#include "tessera/runtime/run/ProgramRun.h"

#include <stdexcept>

namespace tessera::runtime {

namespace {
struct Kind {
  const char *name;
  std::map<std::string, RankBytes> ProgramCall::*ports;
};
} // namespace
static constexpr Kind kKinds[] = {
    {"in", &ProgramCall::inputs}, {"out", &ProgramCall::outputs}, {"state", &ProgramCall::states}};

Status writeCalls(const std::string &path, const std::vector<ProgramCall> &calls) {
  std::vector<io::TensorToWrite> tensors;
  for (size_t i = 0; i < calls.size(); ++i) {
    std::string call = std::to_string(i) + "/" + calls[i].entry + "/";
    tensors.push_back({call + "call", io::DType::U8, {0}, nullptr}); // a call without a port is one too
    for (const auto &[port, earlier] : calls[i].reused)
      tensors.push_back(
          {call + "reused/" + port + "/" + std::to_string(earlier), io::DType::U8, {0}, nullptr});
    for (const Kind &kind : kKinds)
      for (const auto &[port, ranks] : calls[i].*kind.ports)
        for (size_t r = 0; r < ranks.size(); ++r)
          if (!ranks[r].empty())
            tensors.push_back({call + kind.name + "/" + port + "/" + std::to_string(r),
                               io::DType::U8,
                               {int64_t(ranks[r].size())},
                               ranks[r].data()});
  }
  return io::writeSafetensors(path, tensors);
}

// Takes the text up to the first '/' off `text`.
static std::string word(std::string &text) {
  size_t at = text.find('/');
  std::string first = text.substr(0, at);
  text = at == std::string::npos ? "" : text.substr(at + 1);
  return first;
}

Status readCalls(const std::string &path, std::vector<ProgramCall> &calls) {
  auto file = io::ModelFile::open(path);
  if (!file)
    return file.takeFailure();
  for (const io::TensorInfo &tensor : (*file)->tensors()) {
    auto fail = [&] {
      return Failure{"cannot read calls", path, "tensor " + tensor.name + " is none of a call's", ""};
    };
    std::string rest = tensor.name;
    std::string number = word(rest), entry = word(rest), kind = word(rest);
    // Names of ports may hold slashes, the rank comes last.
    size_t at = rest.rfind('/');
    try {
      size_t i = std::stoul(number);
      if (i > 100000)
        return fail();
      if (calls.size() <= i)
        calls.resize(i + 1);
      calls[i].entry = entry;
      if (kind == "call")
        continue;
      if (kind == "reused" && at != std::string::npos) {
        calls[i].reused[rest.substr(0, at)] = std::stoul(rest.substr(at + 1));
        continue;
      }
      const Kind *found = nullptr;
      for (const Kind &k : kKinds)
        if (kind == k.name)
          found = &k;
      if (!found || at == std::string::npos)
        return fail();
      size_t rank = std::stoul(rest.substr(at + 1));
      if (rank > (1 << 20))
        return fail();
      RankBytes &ranks = (calls[i].*found->ports)[rest.substr(0, at)];
      if (ranks.size() <= rank)
        ranks.resize(rank + 1);
      ranks[rank].assign(tensor.data, tensor.data + tensor.bytes);
    } catch (const std::logic_error &) { // no number
      return fail();
    }
  }
  return {};
}

} // namespace tessera::runtime
