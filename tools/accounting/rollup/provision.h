// How the machines of an allocation were paid for: told by names that say so, never guessed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace goodput {

// "reserved:NAME" with a Slurm reservation; else "reserved", "spot", "flex-start" or "on-demand" where all
// nodes have a feature that says so, else where the partition's name does; else "-". `features`: of each
// node, with commas; empty where a node has none or none is known. A word counts only whole: "spot-a3" says
// spot, "spotlight" does not.
std::string ProvisionOf(std::string_view reservation, std::string_view partition,
                        const std::vector<std::string_view>& features);

}  // namespace goodput
