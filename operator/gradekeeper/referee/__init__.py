"""The referee: the trusted container of a grading Pod.

Imports the standard library and itself, nothing else: it starts with every Pod, next to a lane
that runs hostile code. Others import `gradekeeper.referee.result` (the result message) and
`gradekeeper.referee.local` (the same referee without a cluster); neither imports them back.
"""
