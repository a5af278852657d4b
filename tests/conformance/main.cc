// sandkeep-conformance-gateway: sandkeep-gateway with the suite's fixtures, and nothing else.
#include "gateway/program.h"
#include "tests/conformance/fixtures.h"

int main(int argc, char** argv) {
  return sandkeep::RunGateway(argc, argv, sandkeep::mcp::ConformanceFixtures());
}
