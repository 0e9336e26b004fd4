# Sourced by the other scripts: create a virtual environment in .venv with this package.
#
#   prepare_venv EXTRA...     e.g. prepare_venv hpo    or    prepare_venv dev hpo
#
# Installs only when pyproject.toml, the version or the constraints changed, or an extra is new.
# TRECTOOLS_PLUS_VENV selects another folder, PYTHON another interpreter, and CONSTRAINTS another file
# than constraints.txt.

find_python() {
    local candidate
    # Not all packages have wheels for Python 3.14.
    for candidate in ${PYTHON:-} python3 python3.13 python3.12 python3.11 python; do
        if command -v "$candidate" >/dev/null 2>&1 && "$candidate" -c \
            'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' 2>/dev/null; then
            echo "$candidate"
            return
        fi
    done
    echo "error: no Python 3.11, 3.12 or 3.13 found — PATH — install one, or set PYTHON to it" >&2
    return 2
}

prepare_venv() {
    local python stamp extra constraints=${CONSTRAINTS:-constraints.txt}
    venv=${TRECTOOLS_PLUS_VENV:-$PWD/.venv}
    stamp="$(cat pyproject.toml trectools_plus/__init__.py "$constraints" | cksum) $PWD"
    if [ "$(head -n 1 "$venv/.installed" 2>/dev/null)" = "$stamp" ]; then
        local wanting=""
        for extra in "$@"; do
            grep -qx "$extra" "$venv/.installed" || wanting=1
        done
        [ -n "$wanting" ] || return 0
    fi
    python=$(find_python) || return
    [ -x "$venv/bin/python" ] || "$python" -m venv "$venv"
    echo "Installing trectools-plus into $venv; this happens once and takes a minute …" >&2
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check \
        --only-binary :all: --constraint "$constraints" --editable ".[$(IFS=,; echo "$*")]"
    printf '%s\n' "$stamp" "$@" >"$venv/.installed"
}
