// completion/complete: what a person may be going to type into a prompt's argument or a resource
// template's variable. Any thread.
#pragma once

#include "gateway/mcp/method.h"
#include "gateway/mcp/prompts.h"
#include "gateway/mcp/resources.h"

namespace sandkeep::mcp {

// True if anything of these completes.
bool AnyCompletes(const Prompts& prompts, const ResourceSources& sources);

// Both outlive the method.
void AddCompletionMethod(const Prompts& prompts, const ResourceSources& sources, Methods* methods);

}  // namespace sandkeep::mcp
