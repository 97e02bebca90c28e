// Barriers and warp operations.
#include "Functions.h"
#include "Intrinsics.h"

using namespace llvm;

namespace standin {

static Value *unpack(Lowering &l, Value *pair, Type *valueType) { // { value, predicate }
  IRBuilder<> &b = l.builder;
  Value *value = b.CreateBitCast(b.CreateTrunc(pair, b.getInt32Ty()), valueType);
  Value *predicate = b.CreateTrunc(b.CreateLShr(pair, 32), b.getInt1Ty());
  Value *made = b.CreateInsertValue(PoisonValue::get(l.type()), value, 0);
  return b.CreateInsertValue(made, predicate, 1);
}

static Value *asWord(Lowering &l, Value *value) {
  IRBuilder<> &b = l.builder;
  if (value->getType()->isFloatTy())
    return b.CreateBitCast(value, b.getInt32Ty());
  return b.CreateZExtOrTrunc(value, b.getInt32Ty());
}

static void addBarriers(RuleTable &table) {
  struct Form {
    const char *name;
    uint32_t kind;
  } forms[] = {{"sync", kBarrierSync},
               {"arrive", kBarrierArrive},
               {"red.popc", kBarrierPopulation},
               {"red.and", kBarrierAnd},
               {"red.or", kBarrierOr}};
  for (Form form : forms)
    for (bool aligned : {false, true})
      for (bool counted : {false, true}) {
        std::string name = "barrier.cta." + std::string(form.name) + (aligned ? ".aligned" : "") +
                           (counted ? ".count" : ".all");
        table[name] = [=](Lowering &l) -> Value * {
          bool reduces = form.kind >= kBarrierPopulation;
          Value *count = counted ? l.argument(1) : l.word(0);
          Value *predicate = reduces ? asWord(l, l.argument(counted ? 2 : 1)) : l.word(0);
          Value *made =
              l.engine("barrier", l.builder.getInt32Ty(),
                       {l.argument(0), count, predicate, l.word(form.kind), l.word(aligned), l.site()});
          return l.type()->isVoidTy() ? nullptr : l.builder.CreateTrunc(made, l.type());
        };
      }
}

static void addShuffles(RuleTable &table) {
  std::pair<const char *, uint32_t> modes[] = {
      {"up", kShuffleUp}, {"down", kShuffleDown}, {"bfly", kShuffleButterfly}, {"idx", kShuffleIndex}};
  for (auto [mode, kind] : modes)
    for (const char *type : {"i32", "f32", "i32p", "f32p"})
      table["shfl.sync." + std::string(mode) + "." + type] = [kind = kind](Lowering &l) -> Value * {
        IRBuilder<> &b = l.builder;
        Value *pair = l.engine(
            "shuffle", b.getInt64Ty(),
            {l.argument(0), asWord(l, l.argument(1)), l.argument(2), l.argument(3), l.word(kind), l.site()});
        if (l.type()->isStructTy())
          return unpack(l, pair, l.type()->getStructElementType(0));
        return b.CreateBitCast(b.CreateTrunc(pair, b.getInt32Ty()), l.type());
      };
}

void addWarpRules(RuleTable &table) {
  addBarriers(table);
  addShuffles(table);
  table["bar.warp.sync"] = [](Lowering &l) -> Value * {
    return l.engine("warp_sync", l.builder.getVoidTy(), {l.argument(0), l.site()}), nullptr;
  };
  std::pair<const char *, uint32_t> votes[] = {
      {"all", kVoteAll}, {"any", kVoteAny}, {"uni", kVoteUniform}, {"ballot", kVoteBallot}};
  for (auto [name, kind] : votes)
    table["vote." + std::string(name) + ".sync"] = [kind = kind](Lowering &l) -> Value * {
      Value *made = l.engine("vote", l.builder.getInt32Ty(),
                             {l.argument(0), asWord(l, l.argument(1)), l.word(kind), l.site()});
      return l.builder.CreateTrunc(made, l.type());
    };
  auto match = [](bool all) {
    return [=](Lowering &l) -> Value * {
      IRBuilder<> &b = l.builder;
      Value *value = b.CreateZExt(l.argument(1), b.getInt64Ty());
      Value *pair = l.engine("match", b.getInt64Ty(), {l.argument(0), value, l.word(all), l.site()});
      return all ? unpack(l, pair, b.getInt32Ty()) : b.CreateTrunc(pair, b.getInt32Ty());
    };
  };
  table["match.any.sync.i32"] = table["match.any.sync.i64"] = match(false);
  table["match.all.sync.i32p"] = table["match.all.sync.i64p"] = match(true);
  std::pair<const char *, uint32_t> reductions[] = {
      {"add", kReduceAdd},          {"min", kReduceMin}, {"max", kReduceMax}, {"umin", kReduceUnsignedMin},
      {"umax", kReduceUnsignedMax}, {"and", kReduceAnd}, {"or", kReduceOr},   {"xor", kReduceXor}};
  for (auto [name, kind] : reductions)
    table["redux.sync." + std::string(name)] =
        [kind = kind](Lowering &l) -> Value * { // the mask is the second operand
      Value *made = l.engine("reduce", l.builder.getInt32Ty(),
                             {l.argument(1), asWord(l, l.argument(0)), l.word(kind), l.site()});
      return l.builder.CreateBitCast(made, l.type());
    };
  table["elect.sync"] = [](Lowering &l) -> Value * {
    return unpack(l, l.engine("elect", l.builder.getInt64Ty(), {l.argument(0), l.site()}),
                  l.builder.getInt32Ty());
  };
  // Which lanes run together is never promised: a thread alone is as right as any set.
  table["activemask"] = [](Lowering &l) -> Value * {
    return l.builder.CreateShl(l.word(1),
                               l.threadField(offsetof(ThreadContext, lane), l.builder.getInt32Ty()));
  };
}

} // namespace standin
