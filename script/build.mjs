// Bundles the browser's files: every .js and .css directly in static/src is an entry
// and becomes static/dist/<name>; all else there is imported by one of them.
// `--watch` builds again whenever a source changes.
import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import * as esbuild from "esbuild";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const source = join(root, "static/src");
const target = join(root, "static/dist");

const entries = readdirSync(source, { withFileTypes: true })
  .filter((file) => file.isFile() && /\.(js|css)$/.test(file.name))
  .filter((file) => !file.name.endsWith(".test.js"))
  .map((file) => join(source, file.name));

const options = {
  entryPoints: entries,
  outdir: target,
  bundle: true,
  minify: true,
  sourcemap: "linked",
  format: "esm",
  target: ["es2022", "chrome110", "firefox115", "safari16"],
  external: ["/static/*"],
  loader: { ".woff2": "file" },
  assetNames: "fonts/[name]-[hash]",
  legalComments: "eof",
  logLevel: "warning",
};

function empty() {
  rmSync(target, { recursive: true, force: true });
  mkdirSync(target, { recursive: true });
}

/** Writes what was built in place of what was there; a build that fails leaves that alone.
 * What browsers may fetch packed stands beside itself packed: a page must be readable soon. */
function replace(files) {
  empty();
  for (const file of files) {
    mkdirSync(dirname(file.path), { recursive: true });
    writeFileSync(file.path, file.contents);
    if (/\.(js|css)$/.test(file.path)) writeFileSync(`${file.path}.gz`, gzipSync(file.contents, { level: 9 }));
  }
  // script/bootstrap compares this file's age with the sources'.
  writeFileSync(join(target, ".built"), "");
}

if (process.argv.includes("--watch")) {
  empty(); // nothing packed stays that is older than its source
  const context = await esbuild.context({ ...options, logLevel: "info" });
  await context.watch();
} else {
  replace((await esbuild.build({ ...options, write: false })).outputFiles);
}
