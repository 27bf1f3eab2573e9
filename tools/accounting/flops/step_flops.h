// The floating-point operations a model takes, by its shape: those of the mathematics, not what a program
// really executes (recomputed activations do not count).
#pragma once

#include <optional>
#include <string_view>

#include "absl/status/statusor.h"

namespace goodput {

struct ModelShape {
  double params = 0;           // N, of a mixture of experts those a token uses
  double tokens_per_step = 0;  // of the whole job
  // All or none: then attention counts too.
  double layers = 0;  // L
  double hidden = 0;  // heads x head size
  double seq = 0;     // tokens of one sequence
};

// tokens x (6 N + 12 L hidden seq), forward and backward: Chowdhery et al., "PaLM: Scaling Language Modeling
// with Pathways", appendix B, where attention is 12 L H Q T. Without the second term it is the 6 N D of
// Kaplan et al., "Scaling Laws for Neural Language Models", 2020.
double FlopsOfStep(const ModelShape& model);

// "params=70e9,tokens-per-step=4194304[,layers=,hidden=,seq=]", as --goodput-model has it.
absl::StatusOr<ModelShape> ParseModel(std::string_view text);

// FLOPs over what so many GPU-seconds of this peak (FLOP/s) could have done.
double Utilisation(double flops, double gpu_seconds, double peak_flops);

}  // namespace goodput
