"""What CTest wrote down of its last run in a build directory."""
import pathlib
import re


class Test:
    def __init__(self, name, seconds, result, output):
        self.name, self.seconds, self.result, self.output = name, seconds, result, output

    def reasons(self):
        """Why it was skipped: pairs of the inner test, if there is one, and the reason."""
        inner = ""
        for line in self.output.splitlines():
            run = re.match(r"\[ RUN +\] (\w+)", line)
            inner = run[1] if run else inner
            if line.startswith("skipped: "):
                yield inner, line[len("skipped: "):]


def read(build):
    """The tests of the last run in `build`; an OSError when nothing has run there."""
    text = (pathlib.Path(build) / "Testing/Temporary/LastTest.log").read_text(errors="replace")
    tests = []
    for part in re.split(r"^\d+/\d+ Testing: ", text, flags=re.M)[1:]:
        name = part.split("\n", 1)[0]
        output = re.search(r"^Output:\n-+\n(.*?)^<end of output>", part, re.M | re.S)
        seconds = re.search(r"^Test time = +([\d.]+) sec", part, re.M)
        result = re.search(r"^Test (Passed|Failed|Skipped)|^(Test not run|Unable to find)", part, re.M)
        tests.append(Test(name, float(seconds[1]) if seconds else 0.0,
                          (result[1] or "Failed") if result else "Failed", output[1] if output else ""))
    return tests
