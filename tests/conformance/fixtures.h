// What the official conformance suite calls by name, as a server under test is to have it. The
// names, texts and shapes are the suite's.
#pragma once

#include "gateway/mcp/registry.h"

namespace sandkeep::mcp {

Registry ConformanceFixtures();

// The parts of it.
void AddFixedTools(Tools* tools);
void AddStreamingTools(Tools* tools);
void AddAskingTools(Tools* tools);
void AddTaskTools(Tools* tools, TaskSources* sources);
void AddFixtureResources(ResourceSources* sources);
void AddFixturePrompts(Prompts* prompts);

// Of one red pixel.
std::string_view FixtureImage();

}  // namespace sandkeep::mcp
