"""Run a command, and print what it took as JSON: seconds, processor_seconds, peak_mib.

The system counts the memory of the process that starts a command as the command's own, so this one
stays small. Output of the command is ignored, unless it fails: with a traceback, or an exit code
above 1, which is that of findings.
"""

import json
import os
import subprocess
import sys
import time

begin = time.perf_counter()
child = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
if os.name == "nt":
    _, errors = child.communicate()
    code = child.returncode
    found = {"seconds": time.perf_counter() - begin}
else:
    errors = child.stderr.read()
    _, status, usage = os.wait4(child.pid, 0)
    code = os.waitstatus_to_exitcode(status)
    found = {
        "seconds": time.perf_counter() - begin,
        "processor_seconds": usage.ru_utime + usage.ru_stime,
        "peak_mib": usage.ru_maxrss / 1024,
    }
if b"Traceback" in errors or code > 1:
    sys.exit(errors.decode())
print(json.dumps(found))
