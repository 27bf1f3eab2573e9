// The floating-point operations of a model, from its shape: those of the mathematics, not those that a
// program really executes (recomputed activations do not count).
#pragma once

#include <optional>
#include <string_view>

#include "absl/status/statusor.h"

namespace goodput {

struct ModelShape {
  double params = 0;           // N; for a mixture of experts, those that a token uses
  double tokens_per_step = 0;  // of the whole job
  // All or none: with all, attention counts too.
  double layers = 0;  // L
  double hidden = 0;  // heads x head size
  double seq = 0;     // tokens of one sequence
};

// tokens x (6 N + 12 L hidden seq), forward and backward: Chowdhery et al., "PaLM: Scaling Language Modeling
// with Pathways", appendix B, where attention is 12 L H Q T. Without the second term it is the 6 N D of
// Kaplan et al., "Scaling Laws for Neural Language Models", 2020.
double FlopsOfStep(const ModelShape& model);

// Parses "params=70e9,tokens-per-step=4194304[,layers=,hidden=,seq=]", the value of --goodput-model.
absl::StatusOr<ModelShape> ParseModel(std::string_view text);

// FLOPs divided by what this many GPU-seconds at this peak (FLOP/s) could have done.
double Utilisation(double flops, double gpu_seconds, double peak_flops);

}  // namespace goodput
