// What the manifest calls roles, parts, fills and what entries give.
#ifndef TESSERA_RUNTIME_CORE_MANIFESTNAMES_H
#define TESSERA_RUNTIME_CORE_MANIFESTNAMES_H

#include "tessera/runtime/core/Manifest.h"

#include <utility>

namespace tessera::runtime {

constexpr std::pair<Role, const char *> roleNames[] = {{Role::Prompt, "prompt"},
                                                       {Role::Next, "next"},
                                                       {Role::Logits, "logits"},
                                                       {Role::Draw, "draw"},
                                                       {Role::Train, "train"},
                                                       {Role::Evaluate, "evaluate"},
                                                       {Role::TrainDropout, "train_dropout"}};
constexpr std::pair<StagePart, const char *> partNames[] = {{StagePart::Begin, "begin"},
                                                            {StagePart::Forward, "forward"},
                                                            {StagePart::Backward, "backward"},
                                                            {StagePart::InputGradient, "input_gradient"},
                                                            {StagePart::WeightGradient, "weight_gradient"},
                                                            {StagePart::Share, "share"},
                                                            {StagePart::Sum, "sum"},
                                                            {StagePart::Update, "update"}};
constexpr std::pair<Fill, const char *> fillNames[] = {{Fill::TokenIds, "token_ids"},
                                                       {Fill::Positions, "positions"},
                                                       {Fill::LastIndex, "last_index"},
                                                       {Fill::Logits, "logits"},
                                                       {Fill::Seed, "seed"},
                                                       {Fill::Temperature, "temperature"},
                                                       {Fill::TopK, "top_k"},
                                                       {Fill::TopP, "top_p"},
                                                       {Fill::MinP, "min_p"},
                                                       {Fill::RepeatPenalty, "repeat_penalty"},
                                                       {Fill::SeenTokens, "seen_tokens"},
                                                       {Fill::PromptNumbers, "prompt_numbers"},
                                                       {Fill::PromptLengths, "prompt_lengths"},
                                                       {Fill::Pages, "pages"},
                                                       {Fill::EndTokens, "end_tokens"},
                                                       {Fill::DrawnEndTokens, "drawn_end_tokens"},
                                                       {Fill::Targets, "targets"},
                                                       {Fill::TokenWeight, "token_weight"},
                                                       {Fill::LearningRate, "learning_rate"},
                                                       {Fill::WeightDecay, "weight_decay"},
                                                       {Fill::Beta1, "beta1"},
                                                       {Fill::Beta2, "beta2"},
                                                       {Fill::Epsilon, "epsilon"},
                                                       {Fill::Momentum, "momentum"},
                                                       {Fill::Clip, "clip"},
                                                       {Fill::FirstCorrection, "first_correction"},
                                                       {Fill::SecondCorrection, "second_correction"},
                                                       {Fill::LossScale, "loss_scale"},
                                                       {Fill::DropoutKey, "dropout_key"},
                                                       {Fill::Dropout, "dropout"},
                                                       {Fill::Received, "received"},
                                                       {Fill::ReceivedGradient, "received_gradient"},
                                                       {Fill::FirstLayer, "first_layer"},
                                                       {Fill::MicroBatch, "micro_batch"},
                                                       {Fill::StageSum, "stage_sum"},
                                                       {Fill::SharedGradient, "shared_gradient"}};
constexpr std::pair<Gives, const char *> givesNames[] = {
    {Gives::Logits, "logits"},      {Gives::NextTokens, "next_tokens"},
    {Gives::Loss, "loss"},          {Gives::GradNorm, "grad_norm"},
    {Gives::Sent, "sent"},          {Gives::SentGradient, "sent_gradient"},
    {Gives::StageSum, "stage_sum"}, {Gives::SharedGradient, "shared_gradient"}};
constexpr std::pair<Clear, const char *> clearNames[] = {{Clear::AtStart, "at_start"},
                                                         {Clear::BeforePrompts, "before_prompts"}};

} // namespace tessera::runtime
#endif
