/* A stand-in for libnvidia-ml.so.1: GPUs as a file describes them, named by GOODPUT_STAND_IN_GPUS.
 *
 * A line for each GPU: graphics_percent tensor_percent util_percent energy_mj used_mib free_mib mig.
 * graphics_percent < 0: a GPU that does not measure its engines, as before Hopper. The word `lost` instead:
 * the GPU does not answer. The word `hang` as the first line: the driver never answers.
 *
 * Functions, structures and error numbers as in nvml.h of the driver's release 580. The real library of
 * release 535 was run by hand without a driver: nvmlInit_v2 returns 9, "Driver Not Loaded". */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
  SUCCESS = 0,
  INVALID_ARGUMENT = 2,
  NOT_SUPPORTED = 3,
  DRIVER_NOT_LOADED = 9,
  GPU_IS_LOST = 15,
  MOST = 16
};

struct gpu {
  double graphics, tensor;
  unsigned util, mig;
  unsigned long long energy, used, free;
  int lost;
};
static struct gpu gpus[MOST];
static unsigned count;

#pragma GCC visibility push(default)

struct utilization {
  unsigned gpu, memory;
};
struct memory {
  unsigned long long total, free, used;
};
struct metric {
  unsigned id;
  int result;
  double value;
  const char* names[3];
};
struct metrics {
  unsigned version, count;
  struct gpu **first, **second;
  struct metric metrics[333];
};
struct support {
  unsigned version, supported;
};

int nvmlInit_v2(void) {
  const char* path = getenv("GOODPUT_STAND_IN_GPUS");
  FILE* file = path ? fopen(path, "r") : NULL;
  char line[256];
  if (!file) return DRIVER_NOT_LOADED;
  for (count = 0; count < MOST && fgets(line, sizeof line, file); ++count) {
    struct gpu* g = &gpus[count];
    if (strncmp(line, "hang", 4) == 0) pause();
    g->lost = sscanf(line, "%lf %lf %u %llu %llu %llu %u", &g->graphics, &g->tensor, &g->util, &g->energy,
                     &g->used, &g->free, &g->mig) != 7;
  }
  fclose(file);
  return SUCCESS;
}

int nvmlShutdown(void) {
  return SUCCESS;
}

const char* nvmlErrorString(int result) {
  return result == GPU_IS_LOST         ? "GPU is lost"
         : result == DRIVER_NOT_LOADED ? "Driver Not Loaded"
                                       : "Unknown Error";
}

int nvmlDeviceGetCount_v2(unsigned* n) {
  *n = count;
  return SUCCESS;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, struct gpu** device) {
  if (index >= count) return INVALID_ARGUMENT;
  *device = &gpus[index];
  return gpus[index].lost ? GPU_IS_LOST : SUCCESS;
}

int nvmlDeviceGetUUID(struct gpu* g, char* uuid, unsigned length) {
  snprintf(uuid, length, "GPU-604ac76c-d9cf-fef3-62e9-d92044ab6e%02x", (unsigned)(g - gpus));
  return SUCCESS;
}

int nvmlDeviceGetUtilizationRates(struct gpu* g, struct utilization* u) {
  if (g->mig) return NOT_SUPPORTED;
  u->gpu = g->util;
  return SUCCESS;
}

int nvmlDeviceGetTotalEnergyConsumption(struct gpu* g, unsigned long long* mj) {
  *mj = g->energy;
  return SUCCESS;
}

int nvmlDeviceGetMemoryInfo(struct gpu* g, struct memory* m) {
  m->used = g->used << 20;
  m->free = g->free << 20;
  m->total = m->used + m->free;
  return SUCCESS;
}

int nvmlDeviceGetMigMode(struct gpu* g, unsigned* current, unsigned* pending) {
  *current = *pending = g->mig;
  return SUCCESS;
}

int nvmlGpmQueryDeviceSupport(struct gpu* g, struct support* s) {
  if (s->version != 1) return INVALID_ARGUMENT;
  s->supported = g->graphics >= 0;
  return SUCCESS;
}

int nvmlGpmSampleAlloc(struct gpu*** sample) {
  *sample = calloc(1, sizeof **sample);
  return SUCCESS;
}
int nvmlGpmSampleFree(struct gpu** sample) {
  free(sample);
  return SUCCESS;
}
int nvmlGpmSampleGet(struct gpu* g, struct gpu** sample) {
  *sample = g;
  return SUCCESS;
}

int nvmlGpmMetricsGet(struct metrics* m) {
  if (m->version != 1 || *m->first != *m->second) return INVALID_ARGUMENT;
  for (unsigned i = 0; i < m->count; ++i) {
    m->metrics[i].result = m->metrics[i].id == 1 || m->metrics[i].id == 5 ? SUCCESS : NOT_SUPPORTED;
    m->metrics[i].value = m->metrics[i].id == 1 ? (*m->first)->graphics : (*m->first)->tensor;
  }
  return SUCCESS;
}
