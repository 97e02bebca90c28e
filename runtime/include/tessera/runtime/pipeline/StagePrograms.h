// The programs of a pipeline's stages, put together: what a rank must know of its own stages and of the
// others.
#ifndef TESSERA_RUNTIME_PIPELINE_STAGEPROGRAMS_H
#define TESSERA_RUNTIME_PIPELINE_STAGEPROGRAMS_H

#include "tessera/runtime/abi.h"
#include "tessera/runtime/core/Manifest.h"
#include "tessera/runtime/pipeline/RankBytes.h"

#include <string>
#include <vector>

namespace tessera::runtime {

// What a stage gives to a neighbour, in the order of its outputs: where each value lies in the message.
struct TravellingValue {
  std::string name;
  size_t offset = 0, bytes = 0;
};
struct StageMessage {
  std::vector<TravellingValue> values;
  size_t bytes = 0;
  const TravellingValue *find(const std::string &name) const; // null if there is none
};

class StagePrograms {
public:
  // Reads the manifests of `program.programs`. `whole`, that of the program itself, must outlive the object.
  // Throws Error where stages do not fit each other, the table of stages, or the lists; where a list cannot
  // run; and for what this runtime cannot do.
  StagePrograms(const ts_program &program, const Manifest &whole);

  const Manifest &whole() const { return whole_; }
  const PipelineSpec &spec() const { return *whole_.pipeline; }
  int32_t stages() const { return int32_t(manifests_.size()); }
  // Of a stage, on the mesh of the whole; its parameters know which layers they are and which ranks hold
  // them.
  const Manifest &manifest(int32_t stage) const { return manifests_[size_t(stage)]; }
  const std::vector<Manifest> &manifests() const { return manifests_; }
  const ts_program &program(int32_t stage) const { return *programs_[size_t(stage)]; }

  // The pipeline's axis, and the stages at a coordinate of it, ascending.
  const AxisList &axis() const { return axis_; }
  std::vector<int32_t> stagesAt(int64_t coordinate) const;
  bool has(Role role) const; // whether some of the stages have parts of such a step
  // The role of the entries that a stage runs in such a step: what drops nothing there is the step without
  // dropout.
  Role ownRole(int32_t stage, Role role) const;

  // With their sends and receives: those of a step, and those of an evaluation, which are the forwards of a
  // step in their order.
  const schedule::Schedule &lists(Role role) const { return role == Role::Evaluate ? forwards_ : lists_; }
  int32_t sendBuffers(Role role) const {
    return role == Role::Evaluate ? forwardBuffers_ : int32_t(spec().sendBuffers);
  }

  // Of those that generate: groups of rows that are on their way at once, and rows of the largest one, for
  // which programs are. Some have a row less where the batch does not divide.
  int64_t groups() const { return spec().groups; }
  int64_t groupRows() const { return (whole_.generate->batch + groups() - 1) / groups(); }

  // What `stage` gives to the next one, or (forward false) to the one before.
  StageMessage message(int32_t stage, Role role, bool forward) const;
  ValueSizes sizes(Role role) const;
  KeptMessages keptMessages(int32_t stage, Role role) const;
  // Names of outputs that are added up over the stages, in the order of the stages that give them.
  std::vector<std::string> sums(Role role) const;

private:
  void readStages(const ts_program &program);
  void readLists();
  void checkStage(int32_t stage) const;
  void checkGeneration() const;
  void checkStep(Role role) const;
  void checkMessages(int32_t stage, Role role, bool forward) const;
  void checkShared(Role role) const;
  // Visits the entries that a stage runs in such a step.
  template <typename Visit> void entriesOf(int32_t stage, Role role, Visit &&visit) const {
    const Role own = ownRole(stage, role);
    for (const EntrySpec &e : manifest(stage).entries)
      if (e.role == own)
        visit(e);
  }

  const Manifest &whole_;
  AxisList axis_;
  std::vector<Manifest> manifests_;
  std::vector<const ts_program *> programs_;
  schedule::Schedule lists_, forwards_;
  int32_t forwardBuffers_ = 1;
};

// What the output `shared_gradient` of a weight, and the input that takes the other stage's, are called.
std::string sharedName(const PipelineSpec::Shared &shared);

} // namespace tessera::runtime
#endif
