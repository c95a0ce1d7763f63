
#include "RuntimeFixture.h"

namespace tessera::runtime {

std::vector<std::string> driverKinds() { return {"null"}; }

std::unique_ptr<driver::Driver> makeDriver(const std::string &kind,
                                           const Architecture &arch) {
  return driver::makeNullDriver(arch);
}

} // namespace tessera::runtime
