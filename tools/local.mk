# From the lowest layer up: each folder uses only those above it in this list (tests/checks/house).
include tools/base/local.mk
include tools/accounting/local.mk
include tools/sources/local.mk
include tools/clients/local.mk
include tools/web/local.mk
include tools/reader/local.mk
include tools/otlp/local.mk
include tools/goodputd/local.mk
include tools/sgoodput/local.mk
include tools/fleet_database/local.mk
include tools/google_cloud/local.mk
include tools/nvml/local.mk
include tools/post/local.mk
include tools/telemetry/local.mk
include tools/data/local.mk

EXTRA_DIST += tools/README.md tools/deps

