/* The system call filter of a lane: every call that this machine has is decided in filter.c. */
#ifndef GRADEKEEPER_FILTER_H
#define GRADEKEEPER_FILTER_H

#include <stdbool.h>

/* Compiles the filter once, so that a child only has to load it. False: out of memory, or the table
 * decides a call twice. */
bool build_filter(void);

/* Puts the calling process under the filter, for good. It needs no_new_privs. False: see errno. */
bool load_filter(void);

#endif
