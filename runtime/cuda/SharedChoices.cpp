#include "SharedChoices.h"

#include <algorithm>
#include <vector>

namespace tessera::runtime {

// What every rank says, on all of them.
static std::vector<std::string> exchangeTexts(HostPlane &plane, const std::string &own) {
  const auto ranks = size_t(plane.ranks());
  std::vector<uint64_t> lengths(ranks);
  uint64_t length = own.size();
  plane.gather(&length, sizeof(length), lengths.data(), 0);
  plane.broadcast(lengths.data(), ranks * sizeof(uint64_t), 0);
  const size_t most = *std::max_element(lengths.begin(), lengths.end());
  std::string padded = own, all(ranks * most, '\0');
  padded.resize(most);
  std::vector<std::string> texts(ranks);
  if (most == 0)
    return texts;
  plane.gather(padded.data(), most, all.data(), 0);
  plane.broadcast(all.data(), all.size(), 0);
  for (size_t rank = 0; rank < ranks; ++rank)
    texts[rank] = all.substr(rank * most, lengths[rank]);
  return texts;
}

static std::vector<std::string> linesOf(const std::string &text) {
  std::vector<std::string> lines;
  for (size_t begin = 0, end; begin < text.size(); begin = end + 1) {
    end = text.find('\n', begin);
    lines.push_back(text.substr(begin, end - begin));
  }
  return lines;
}

Choices agree(HostPlane *plane, const std::set<std::string> &keys,
              const std::function<Choices(const std::set<std::string> &own)> &decide) {
  if (!plane || plane->ranks() == 1)
    return decide(keys);
  std::string text;
  for (const std::string &key : keys)
    text += key + "\n";
  std::map<std::string, int64_t> deciders;
  std::vector<std::string> of = exchangeTexts(*plane, text);
  for (size_t rank = 0; rank < of.size(); ++rank)
    for (const std::string &key : linesOf(of[rank]))
      deciders.emplace(key, int64_t(rank));
  std::set<std::string> own;
  for (const std::string &key : keys)
    if (deciders.at(key) == plane->rank())
      own.insert(key);
  text.clear();
  for (const auto &[key, value] : decide(own))
    text += key + "\n" + value + "\n";
  Choices choices;
  for (const std::string &said : exchangeTexts(*plane, text)) {
    std::vector<std::string> lines = linesOf(said);
    for (size_t i = 0; i + 1 < lines.size(); i += 2)
      if (keys.count(lines[i]))
        choices[lines[i]] = lines[i + 1];
  }
  return choices;
}

} // namespace tessera::runtime
