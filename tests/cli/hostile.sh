# Names, values and sentences that try to be more than text: in every page and on the terminal.
hostile() { python3 "$ROOT/tests/cli/hostile.py" "$@" >.hostile 2>&1 || fail "$(cat .hostile)"; }

name=$'run <b>HOSTILE</b>\x1b[2J\xff\u202e&'
hostile make "$name" other
expect 0 "$FERRY" report "$name"
hostile html "$name/report.html"
hostile md "$name/report.md"
hostile json "$name/report.json"
expect 0 "$FERRY" report other "$name" out=both.html
hostile html both.html
hostile md both.md
hostile json both.json
expect 0 "$FERRY" watch "$name"
hostile text .out

# a log of OpenSeq2Seq whose sentences are no better
PYTHONIOENCODING=utf-8 python3 "$ROOT/tests/cli/reference_log.py" >nohup.out
LC_ALL=C sed $'s/sails\\./<script>HOSTILE \x1b[2J \xff \xe2\x80\xae/' nohup.out >HOSTILE.log
expect 0 "$FERRY" report HOSTILE.log
hostile html HOSTILE.log.report.html
grep -q '&lt;script&gt;HOSTILE' HOSTILE.log.report.html || fail "the sentence is not shown"
hostile md HOSTILE.log.report.md
hostile json HOSTILE.log.report.json

# the page of a run that trains
python3 - "$FERRY" "$name" <<'END' || fail "the live page is not served"
import subprocess, sys, urllib.request
server = subprocess.Popen([sys.argv[1], "watch", sys.argv[2], "--http", "port=0"], stdout=subprocess.PIPE, text=True)
try:
    base = server.stdout.readline().strip()
    for path, file in (("", "live.html"), ("report", "served.html"), ("status.json", "status.json")):
        open(file, "wb").write(urllib.request.urlopen(base + path, timeout=30).read())
finally:
    server.terminate()
    server.wait()
END
hostile html live.html
hostile html served.html
hostile json status.json
