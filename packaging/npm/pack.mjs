// Packs the npm packages: one for each binary, and plumb-eval, which depends on all of them.
//
//   node packaging/npm/pack.mjs VERSION OUT PLATFORM=BINARY...
//
// PLATFORM is an operating system and an architecture as Node names them, such as linux-x64. The
// tarballs go to the directory OUT. plumb-eval lists the platforms given here and no others.
import { execFileSync } from "node:child_process";
import { chmodSync, copyFileSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

const here = path.dirname(fileURLToPath(import.meta.url));
const root = path.join(here, "../..");
const [version, out, ...binaries] = process.argv.slice(2);
if (binaries.length === 0) {
	console.error("usage: pack.mjs VERSION OUT PLATFORM=BINARY...");
	process.exit(2);
}
const scratch = mkdtempSync(path.join(tmpdir(), "plumb-npm-"));
mkdirSync(out, { recursive: true });
const main = JSON.parse(readFileSync(path.join(here, "package.json"), "utf8"));

// pack writes the manifest and the license into a directory, and packs it.
function pack(dir, manifest) {
	writeFileSync(path.join(dir, "package.json"), JSON.stringify(manifest, null, 2) + "\n");
	copyFileSync(path.join(root, "LICENSE"), path.join(dir, "LICENSE"));
	const npm = process.platform === "win32" ? "npm.cmd" : "npm";
	execFileSync(npm, ["pack", "--silent", "--ignore-scripts", "--pack-destination", path.resolve(out)], {
		cwd: dir, stdio: ["ignore", "inherit", "inherit"], shell: process.platform === "win32",
	});
}

try {
	const platforms = {};
	for (const binary of binaries) {
		const [, platform, file] = /^([a-z0-9]+-[a-z0-9]+)=(.+)$/.exec(binary) ?? [];
		if (!platform) throw new Error(`${binary} is not PLATFORM=BINARY`);
		const [os, cpu] = platform.split("-");
		const name = `@plumb-eval/${platform}`;
		const program = os === "win32" ? "plumb.exe" : "plumb";
		const dir = path.join(scratch, platform);
		mkdirSync(path.join(dir, "bin"), { recursive: true });
		copyFileSync(file, path.join(dir, "bin", program));
		chmodSync(path.join(dir, "bin", program), 0o755);
		writeFileSync(path.join(dir, "README.md"), `The binary of [plumb-eval](https://www.npmjs.com/package/plumb-eval) for ${platform}.\n`);
		const { description, license, homepage, repository } = main;
		pack(dir, { name, version, description, license, homepage, repository, os: [os], cpu: [cpu], files: ["bin"], preferUnplugged: true });
		platforms[name] = version;
	}
	const dir = path.join(scratch, "plumb-eval");
	cpSync(path.join(here, "bin"), path.join(dir, "bin"), { recursive: true });
	copyFileSync(path.join(here, "README.md"), path.join(dir, "README.md"));
	copyFileSync(path.join(root, "internal/suite/plumb.d.ts"), path.join(dir, "plumb.d.ts"));
	pack(dir, { ...main, version, optionalDependencies: platforms });
} finally {
	rmSync(scratch, { recursive: true, force: true });
}
