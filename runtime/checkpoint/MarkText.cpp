// What a save's texts say; Mark.cpp reads them.
#include "Mark.h"

#include "tessera/runtime/io/Checksum.h"

#include <nlohmann/json.hpp>

namespace tessera::checkpoint {

std::string indexText(const FileLayout &weights, int64_t step) {
  nlohmann::ordered_json json;
  json["metadata"] = {{"total_size", weights.bytes - weights.header.size()}, {"step", step}};
  for (const FileTensor &tensor : weights.tensors)
    json["weight_map"][tensor.name] = stepName(step) + "/" + weightsName;
  return json.dump(1) + "\n";
}

std::string markText(const SaveRequest &request, const std::vector<FileLayout> &layouts,
                     const std::vector<uint64_t> &sums) {
  nlohmann::ordered_json json;
  const TrainingPlace &place = request.place;
  json["format"] = markVersion;
  json["step"] = place.step;
  json["updates"] = place.updates;
  json["rows"] = place.rows;
  json["loss_scale"] = place.lossScale; // the shortest text that is read back to the same bits
  json["good_steps"] = place.goodSteps;
  json["pass_rows"] = place.passRows;
  if (place.shuffle)
    json["shuffle"] = *place.shuffle;
  json["data"] = io::hexText(place.fingerprint);
  json["documents"] = place.documents;
  json["files"] = nlohmann::ordered_json::object();
  for (const auto &[name, text] : request.texts)
    json["files"][name] = {{"bytes", text.size()}, {"checksum", io::hexText(io::checksum(text))}};
  size_t sum = 0;
  for (size_t f = 0; f < layouts.size(); ++f) {
    nlohmann::ordered_json tensors = nlohmann::ordered_json::object();
    for (const FileTensor &tensor : layouts[f].tensors)
      tensors[tensor.name] = io::hexText(sums[sum++]);
    json["files"][request.files[f].name] = {{"bytes", layouts[f].bytes},
                                            {"header_bytes", layouts[f].header.size()},
                                            {"checksum", io::hexText(io::checksum(layouts[f].header))},
                                            {"tensors", std::move(tensors)}};
  }
  std::string rest = "\"," + json.dump().substr(1) + "\n";
  return std::string(markBegin) + io::hexText(io::checksum(rest)) + rest;
}

} // namespace tessera::checkpoint
