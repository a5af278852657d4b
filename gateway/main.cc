// sandkeep-gateway: reads what the internet sends, and holds no privilege worth stealing.
#include "gateway/program.h"

int main(int argc, char** argv) {
  return sandkeep::RunGateway(argc, argv, sandkeep::mcp::Registry());
}
