// Package packaging_test compares the ways in which plumb is published with each other: .goreleaser.yaml,
// .ci/release, the npm packages, the container image and the GitHub Action.
package packaging_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"debug/buildinfo"
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

const root = ".."

// goreleaser is the part of .goreleaser.yaml that .ci/release repeats.
type goreleaser struct {
	Builds []struct {
		Main, Binary                      string
		Goos, Goarch, Env, Flags, Ldflags []string
	}
	Archives []struct {
		NameTemplate string `yaml:"name_template"`
		Formats      []string
		Files        []struct{ Src string }
	}
	Checksum struct {
		NameTemplate string `yaml:"name_template"`
		Algorithm    string
	}
	NFPMs []struct {
		PackageName                                                  string `yaml:"package_name"`
		FileNameTemplate                                             string `yaml:"file_name_template"`
		Formats                                                      []string
		Maintainer, Description, Homepage, Section, Priority, Bindir string
		Contents                                                     []struct{ Src, Dst string }
	} `yaml:"nfpms"`
	SBOMs   []struct{ Artifacts string } `yaml:"sboms"`
	Casks   []struct{ Name string }      `yaml:"homebrew_casks"`
	Dockers []struct {
		Dockerfile        string
		Images, Platforms []string
	} `yaml:"dockers_v2"`
	Snapshot struct {
		VersionTemplate string `yaml:"version_template"`
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func readYAML(t *testing.T, name string, to any) {
	t.Helper()
	if err := yaml.Unmarshal([]byte(read(t, name)), to); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// program skips a test on machines without the program, and fails it in CI.
func program(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	switch {
	case err == nil:
		return path
	case os.Getenv("PLUMB_CI") != "":
		t.Fatalf("%s is not on the PATH", name)
	}
	t.Skipf("%s is not on the PATH", name)
	return ""
}

// posix skips a test on Windows, whose bash may be the one of WSL.
func posix(t *testing.T) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the scripts are tested on Unix")
	}
	program(t, "bash")
}

// script runs a bash script of the repository, with env added to the environment.
func script(t *testing.T, env []string, name string, args ...string) (output string, code int) {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "bash", append([]string{path}, args...)...)
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// described returns what .ci/release would build, by name.
func described(t *testing.T) map[string][]string {
	t.Helper()
	posix(t)
	out, code := script(t, []string{"VERSION=1.2.3", "ARCHS=amd64 arm64"}, ".ci/release", "--describe")
	if code != 0 {
		t.Fatalf("exit code %d\n%s", code, out)
	}
	found := map[string][]string{}
	for line := range strings.Lines(out) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		found[name] = append(found[name], value)
	}
	return found
}

// expand replaces the fields of a template of goreleaser.
func expand(template, arch string) string {
	return strings.NewReplacer("{{ .Version }}", "1.2.3", "{{ .Os }}", "linux", "{{ .Arch }}", arch).Replace(template)
}

// .ci/release builds what .goreleaser.yaml describes, for Linux.
func TestScriptAgreesWithGoreleaser(t *testing.T) {
	var config goreleaser
	readYAML(t, ".goreleaser.yaml", &config)
	script := described(t)
	equal := func(what, got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("%s: .ci/release has %q, .goreleaser.yaml %q", what, got, want)
		}
	}
	one := func(name string) string { return strings.Join(script[name], ", ") }

	build := config.Builds[0]
	equal("main", one("main"), build.Main)
	equal("env", one("env"), strings.Join(build.Env, " "))
	equal("ldflags", one("ldflags"), strings.Join(build.Ldflags, " "))
	// The script has false where Git refuses the directory.
	flags := strings.Replace(one("flags"), "-buildvcs=false", "-buildvcs=true", 1)
	equal("flags", flags, strings.Join(build.Flags, " "))
	if !slices.Equal(build.Goos, []string{"linux", "darwin", "windows"}) || build.Binary != "plumb" {
		t.Errorf("builds: %+v", build)
	}

	archive, packages := config.Archives[0], config.NFPMs[0]
	var files []string
	for _, f := range archive.Files {
		files = append(files, f.Src)
	}
	equal("files", one("files"), strings.Join(files, " "))
	var archives, debs []string
	for _, arch := range build.Goarch {
		archives = append(archives, expand(archive.NameTemplate, arch)+"."+archive.Formats[0])
		debs = append(debs, expand(packages.FileNameTemplate, arch)+"."+packages.Formats[0])
	}
	equal("archives", one("archive"), strings.Join(archives, ", "))
	equal("Debian packages", one("deb"), strings.Join(debs, ", "))

	text := read(t, ".ci/release")
	control := text[strings.Index(text, "<<-CONTROL"):strings.LastIndex(text, "CONTROL\n")]
	for key, value := range map[string]string{
		"Package": packages.PackageName, "Maintainer": packages.Maintainer, "Section": packages.Section,
		"Priority": packages.Priority, "Homepage": packages.Homepage, "Description": packages.Description,
	} {
		if !strings.Contains(control, "\t"+key+": "+value+"\n") {
			t.Errorf(".ci/release does not write %s: %s", key, value)
		}
	}
	for _, content := range packages.Contents {
		if !strings.Contains(text, content.Src+` "$tree`+content.Dst+`"`) {
			t.Errorf(".ci/release does not put %s at %s", content.Src, content.Dst)
		}
	}
	if !strings.Contains(text, `"$tree`+packages.Bindir+`/plumb"`) ||
		!strings.Contains(text, ">"+config.Checksum.NameTemplate) {
		t.Error(".ci/release puts the binary or the checksums elsewhere")
	}
	version := strings.Replace(config.Snapshot.VersionTemplate, "{{ .ShortCommit }}", "$commit", 1)
	if !strings.Contains(text, version) {
		t.Errorf(".ci/release does not call a snapshot %s", version)
	}
}

// What only goreleaser makes is complete.
func TestGoreleaserMakesTheRest(t *testing.T) {
	var config goreleaser
	readYAML(t, ".goreleaser.yaml", &config)
	if !slices.Equal(config.NFPMs[0].Formats, []string{"deb", "rpm"}) || len(config.Casks) != 1 ||
		len(config.SBOMs) != 1 ||
		config.Checksum.Algorithm != "sha256" {
		t.Errorf("%+v", config)
	}
	image := config.Dockers[0]
	if !slices.Equal(image.Platforms, []string{"linux/amd64", "linux/arm64"}) ||
		image.Dockerfile != "packaging/Dockerfile" {
		t.Errorf("image: %+v", image)
	}
	dockerfile := read(t, image.Dockerfile)
	if !regexp.MustCompile(`(?m)^FROM \S+:nonroot$`).MatchString(dockerfile) ||
		!strings.Contains(dockerfile, "$TARGETPLATFORM/plumb") {
		t.Error("the image runs as root, or has another layout of binaries than goreleaser")
	}
	workflow := read(t, ".github/workflows/release.yml")
	for _, secret := range regexp.MustCompile(`\.Env\.(\w+)`).FindAllStringSubmatch(read(t, ".goreleaser.yaml"), -1) {
		if !strings.Contains(workflow, secret[1]+":") {
			t.Errorf("the release workflow does not set %s", secret[1])
		}
	}
	for _, arch := range config.Builds[0].Goarch {
		for _, system := range config.Builds[0].Goos {
			node := strings.Replace(system, "windows", "win32", 1) + "-" + strings.Replace(arch, "amd64", "x64", 1)
			if !strings.Contains(workflow, node+"=") {
				t.Errorf("the release workflow does not pack %s for npm", node)
			}
		}
	}
}

// The release workflow finds the six binaries where goreleaser leaves them, and publishes plumb-eval last.
func TestWorkflowPublishesNpm(t *testing.T) {
	posix(t)
	var workflow struct {
		Jobs map[string]struct{ Steps []struct{ Name, Run string } }
	}
	readYAML(t, ".github/workflows/release.yml", &workflow)
	dir := t.TempDir()
	for _, path := range []string{
		"linux_amd64_v1/plumb", "linux_arm64_v8.0/plumb", "darwin_amd64_v1/plumb", "darwin_arm64_v8.0/plumb",
		"windows_amd64_v1/plumb.exe", "windows_arm64_v8.0/plumb.exe",
	} {
		path = "dist/plumb_" + path
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(path)), 0o700); err != nil {
			t.Fatal(err)
		}
		write(t, dir, path, "")
	}
	write(t, dir, "dist/plumb_1.2.3-rc.1_linux_amd64.tar.gz", "")
	// Fakes of node, which packs, and of npm.
	var run string
	for _, step := range workflow.Jobs["release"].Steps {
		if step.Name == "npm" {
			run = step.Run
		}
	}
	write(t, dir, "run.sh", `GITHUB_REF_NAME=v1.2.3-rc.1
node() {
	shift 3
	mkdir dist/npm
	echo "node $#" >>calls
	for a; do echo "$a" >>calls; [ -e "${a#*=}" ]; touch "dist/npm/plumb-eval-${a%%=*}-1.2.3-rc.1.tgz"; done
	touch dist/npm/plumb-eval-1.2.3-rc.1.tgz
}
npm() { echo "npm $*" >>calls; }
`+run)
	command(t, dir, "bash", "-e", "run.sh")
	data, err := os.ReadFile(filepath.Join(dir, "calls"))
	if err != nil {
		t.Fatal(err)
	}
	calls := strings.Split(strings.TrimSpace(string(data)), "\n")
	last := "npm publish --access public --provenance --tag next dist/npm/plumb-eval-1.2.3-rc.1.tgz"
	if len(calls) != 14 || calls[0] != "node 6" || calls[13] != last ||
		!slices.Contains(calls, "win32-arm64=dist/plumb_windows_arm64_v8.0/plumb.exe") {
		t.Errorf("calls:\n%s", data)
	}
}

// dist is where .ci/release left a snapshot.
func dist(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("PLUMB_DIST")
	if dir == "" {
		t.Skip("there is no snapshot: .ci/release builds one, and runs this test on it")
	}
	return dir
}

// The binaries of a snapshot are built with the flags, the archives and packages are complete, and the
// checksums hold.
func TestSnapshot(t *testing.T) {
	dir := dist(t)
	var config goreleaser
	readYAML(t, ".goreleaser.yaml", &config)
	archives, err := filepath.Glob(filepath.Join(dir, "plumb_*.tar.gz"))
	if err != nil || len(archives) == 0 {
		t.Fatalf("no archives: %v", err)
	}
	sums, err := os.ReadFile(filepath.Join(dir, config.Checksum.NameTemplate))
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile(`^plumb_(.+)_linux_(\w+)\.tar\.gz$`)
	for _, path := range archives {
		base := filepath.Base(path)
		parts := named.FindStringSubmatch(base)
		if parts == nil {
			t.Errorf("the name %s", base)
			continue
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(sums), fmt.Sprintf("%x  %s\n", sha256.Sum256(data), base)) {
			t.Errorf("%s: the checksum does not hold", base)
		}
		binary := unpack(t, data)
		info, err := buildinfo.Read(bytes.NewReader(binary))
		if err != nil {
			t.Fatalf("%s: %v", base, err)
		}
		settings := map[string]string{}
		for _, s := range info.Settings {
			settings[s.Key] = s.Value
		}
		for key, want := range map[string]string{
			"CGO_ENABLED": "0", "GOARCH": parts[2], "GOOS": "linux", "-trimpath": "true",
		} {
			if settings[key] != want {
				t.Errorf("%s: %s is %q, want %q", base, key, settings[key], want)
			}
		}
		// -trimpath leaves -ldflags out of the build info, but -s -w leaves sections out of the file.
		file, err := elf.NewFile(bytes.NewReader(binary))
		if err != nil {
			t.Fatal(err)
		}
		if file.Section(".symtab") != nil || file.Section(".debug_info") != nil || file.Section(".zdebug_info") != nil {
			t.Errorf("%s has symbols or debug information", base)
		}
		deb := strings.TrimSuffix(path, ".tar.gz") + ".deb"
		if _, err := exec.LookPath("dpkg-deb"); err == nil {
			checkDeb(t, deb, parts[2])
		}
	}
}

// unpack checks the members of an archive and returns the binary.
func unpack(t *testing.T, data []byte) (binary []byte) {
	t.Helper()
	zipped, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for r := tar.NewReader(zipped); ; {
		header, err := r.Next()
		if err != nil {
			break
		}
		names = append(names, header.Name)
		if header.Uid != 0 || header.Uname != "root" {
			t.Errorf("%s belongs to %s", header.Name, header.Uname)
		}
		if header.Name == "plumb" {
			var b bytes.Buffer
			if _, err := b.ReadFrom(r); err != nil {
				t.Fatal(err)
			}
			binary = b.Bytes()
			if header.Mode&0o111 == 0 {
				t.Error("the binary is not executable")
			}
		}
	}
	if !slices.Equal(names, []string{"LICENSE", "README.md", "CHANGELOG.md", "plumb"}) {
		t.Errorf("an archive has %v", names)
	}
	return binary
}

func checkDeb(t *testing.T, deb, arch string) {
	t.Helper()
	fields, err := exec.CommandContext(t.Context(), "dpkg-deb", "--field", deb).CombinedOutput()
	if err != nil || !strings.Contains(string(fields), "Architecture: "+arch+"\n") {
		t.Errorf("%s: %v\n%s", deb, err, fields)
	}
	contents, err := exec.CommandContext(t.Context(), "dpkg-deb", "--contents", deb).CombinedOutput()
	if err != nil || !strings.Contains(string(contents), "./usr/bin/plumb\n") ||
		!strings.Contains(string(contents), "/copyright\n") {
		t.Errorf("%s: %v\n%s", deb, err, contents)
	}
}

// The scripts have no finding of shellcheck, where it is installed.
func TestScriptsAreClean(t *testing.T) {
	shellcheck, err := exec.LookPath("shellcheck")
	if err != nil {
		t.Skip("shellcheck is not on the PATH")
	}
	for _, name := range []string{".ci/adding", ".ci/release", ".github/action/run.sh"} {
		if out, err := exec.CommandContext(t.Context(), shellcheck, filepath.Join(root, name)).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}
