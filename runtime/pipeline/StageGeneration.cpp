// What stages that generate text must agree on.
#include "tessera/runtime/pipeline/StagePrograms.h"

#include "tessera/runtime/core/Fields.h"

namespace tessera::runtime {

void StagePrograms::checkGeneration() const {
  const GenerateSpec &all = *whole_.generate;
  auto require = [](bool ok, int32_t stage, const std::string &why) {
    if (!ok)
      damaged("stage " + std::to_string(stage), why);
  };
  for (int32_t stage = 0; stage < stages(); ++stage) {
    const std::optional<GenerateSpec> &own = manifest(stage).generate;
    require(own && own->batch == groupRows() && own->chunk == all.chunk && own->maxSeqLen == all.maxSeqLen &&
                own->vocab == all.vocab,
            stage, "its sizes of generating are not those of the whole");
    const bool isLast = stage + 1 == stages();
    for (int64_t number : {own->prompt, own->next}) {
      const EntrySpec &e = manifest(stage).entries[size_t(number)];
      require(e.part == StagePart::Forward, stage, "entry " + e.name + " is no part of a step");
      require(isLast == bool(e.output(Gives::NextTokens)), stage,
              "entry " + e.name + (isLast ? " gives no tokens" : " gives tokens, and is not the last"));
    }
    for (Role role : {Role::Prompt, Role::Next}) {
      checkMessages(stage, role, true);
      require(isLast || message(stage, role, true).bytes > 0, stage, "it sends nothing to the next stage");
    }
  }
}

} // namespace tessera::runtime
