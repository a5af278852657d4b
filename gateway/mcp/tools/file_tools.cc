#include "gateway/mcp/tools/file_tools.h"

#include <memory>

#include "gateway/mcp/tools/delete_file.h"
#include "gateway/mcp/tools/edit_file.h"
#include "gateway/mcp/tools/list_files.h"
#include "gateway/mcp/tools/present_file.h"
#include "gateway/mcp/tools/read_file.h"
#include "gateway/mcp/tools/request_upload.h"
#include "gateway/mcp/tools/wait_upload.h"
#include "gateway/mcp/tools/write_file.h"

namespace sandkeep::mcp {

void AddFileTools(AgentClient& agent, LinkMaker& links, const EndpointSettings& settings,
                  Tools* tools) {
  tools->push_back(std::make_unique<WriteFile>(agent));
  tools->push_back(std::make_unique<ReadFile>(agent, settings));
  tools->push_back(std::make_unique<EditFile>(agent));
  tools->push_back(std::make_unique<ListFiles>(agent));
  tools->push_back(std::make_unique<DeleteFile>(agent));
  tools->push_back(std::make_unique<PresentFile>(agent, links, settings));
  if (settings.uploads == nullptr) return;
  tools->push_back(std::make_unique<RequestUpload>(agent, *settings.uploads));
  tools->push_back(std::make_unique<WaitUpload>(agent, *settings.uploads));
}

}  // namespace sandkeep::mcp
