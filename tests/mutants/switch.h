// Included by files with faults in the copy of tests/mutants/run; no product code includes it.
#pragma once

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

// Weak, so that the files of a program share them.
__attribute__((weak, visibility("hidden"))) int goodput_chosen_fault = 0;
__attribute__((weak, visibility("hidden"))) char* goodput_reached_faults = 0;

// $GOODPUT_FAULT is the number of the chosen fault. $GOODPUT_FAULTS_REACHED is a file with one byte per
// fault, which is set when a process reaches that fault's place, chosen or not.
__attribute__((constructor)) static void goodput_choose_fault(void) {
  const char* chosen = getenv("GOODPUT_FAULT");
  if (chosen) goodput_chosen_fault = atoi(chosen);
  const char* reached = getenv("GOODPUT_FAULTS_REACHED");
  if (!reached || goodput_reached_faults) return;
  const int file = open(reached, O_RDWR | O_CLOEXEC);
  if (file < 0) return;
  void* map = mmap(0, 65536, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (map != MAP_FAILED) goodput_reached_faults = (char*)map;
  close(file);
}

static inline int goodput_fault(int number) {
  if (goodput_reached_faults) goodput_reached_faults[number] = 1;
  return goodput_chosen_fault == number;
}
