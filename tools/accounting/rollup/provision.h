// How the machines of an allocation were obtained, as named by features and partitions; never guessed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace goodput {

// "reserved:NAME" with a Slurm reservation; otherwise "reserved", "spot", "flex-start" or "on-demand" if all
// nodes have a feature with that word, or else the partition's name has it; otherwise "-". `features`: of
// each node, separated by commas; empty if it has none or none is known. Only whole words count: "spot-a3" is
// spot, "spotlight" is not.
std::string ProvisionOf(std::string_view reservation, std::string_view partition,
                        const std::vector<std::string_view>& features);

}  // namespace goodput
