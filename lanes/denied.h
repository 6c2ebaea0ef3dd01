/* The calls that a lane is denied, each made once; a part of laneprobe. */
#ifndef GRADEKEEPER_DENIED_H
#define GRADEKEEPER_DENIED_H

/* Prints `,"denied":{…}`: call -> error name, ALLOWED, NOTHING (0, but nothing was done), KILLED. */
void print_denied(void);

#endif
