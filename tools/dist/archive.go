package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/md5"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"
)

// file is a file of an archive. A file in memory takes no more space than in the archive, and a write to memory does not fail.
type file struct {
	name string
	mode int64
	data []byte
}

// under returns the files below a directory.
func under(dir string, files []file) (all []file) {
	for _, f := range files {
		all = append(all, file{path.Join(dir, f.name), f.mode, f.data})
	}
	return all
}

// must panics for an error of a writer to memory, which is a mistake in this program.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

// tarred returns an archive of root's files of one time, with all directories above them.
func tarred(at time.Time, files []file) []byte {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	made := map[string]bool{".": true}
	var directory func(string)
	directory = func(dir string) {
		if made[path.Clean(dir)] {
			return
		}
		made[path.Clean(dir)] = true
		directory(path.Dir(dir))
		must(w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: dir + "/", Mode: 0o755, ModTime: at, Uname: "root", Gname: "root"}))
	}
	for _, f := range files {
		directory(path.Dir(f.name))
		must(w.WriteHeader(&tar.Header{Name: f.name, Mode: f.mode, Size: int64(len(f.data)), ModTime: at, Uname: "root", Gname: "root"}))
		_, err := w.Write(f.data)
		must(err)
	}
	must(w.Close())
	return b.Bytes()
}

// gzipped compresses data; the header has no time.
func gzipped(data []byte) []byte {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	must(err)
	_, err = w.Write(data)
	must(err)
	must(w.Close())
	return b.Bytes()
}

func tarball(at time.Time, files []file) []byte { return gzipped(tarred(at, files)) }

func zipped(at time.Time, files []file) []byte {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, f := range files {
		out, err := w.CreateHeader(&zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: at})
		must(err)
		_, err = out.Write(f.data)
		must(err)
	}
	must(w.Close())
	return b.Bytes()
}

// deb returns a Debian package (deb(5)). It depends on nothing, because the binary is static; Java and ZooKeeper are for runs that start servers.
func (r *release) deb(arch string, binary []byte) []byte {
	files := []file{
		{"usr/bin/zkbench", 0o755, binary},
		{"usr/share/bash-completion/completions/zkbench", 0o644, r.of("completions/zkbench.bash")},
		{"usr/share/doc/zkbench/changelog.gz", 0o644, gzipped(r.of("CHANGELOG.md"))},
		{"usr/share/doc/zkbench/copyright", 0o644, slices.Concat(r.of("LICENSE"), []byte{'\n'}, r.of("NOTICES"))},
		{"usr/share/fish/vendor_completions.d/zkbench.fish", 0o644, r.of("completions/zkbench.fish")},
		{"usr/share/man/man1/zkbench.1.gz", 0o644, gzipped(r.of("zkbench.1"))},
		{"usr/share/zsh/vendor-completions/_zkbench", 0o644, r.of("completions/_zkbench")},
	}
	var sums strings.Builder
	size := 0
	for _, f := range files {
		fmt.Fprintf(&sums, "%x  %s\n", md5.Sum(f.data), f.name)
		size += (len(f.data) + 1023) / 1024
	}
	control := fmt.Sprintf(`Package: zkbench
Version: %s
Architecture: %s
Maintainer: The zkbench authors
Installed-Size: %d
Suggests: default-jre-headless, zookeeper
Section: utils
Priority: optional
Description: load tests of coordination recipes on Apache ZooKeeper
 zkbench runs locks, queues, barriers, elections and other recipes with
 thousands of sessions against real servers, measures them, and checks in
 the same run that they keep their promises.
`, r.debian, arch, size)
	var b bytes.Buffer
	b.WriteString("!<arch>\n")
	for _, member := range []file{{"debian-binary", 0, []byte("2.0\n")},
		{"control.tar.gz", 0, tarball(r.at, under("./", []file{{"control", 0o644, []byte(control)}, {"md5sums", 0o644, []byte(sums.String())}}))},
		{"data.tar.gz", 0, tarball(r.at, files)}} {
		fmt.Fprintf(&b, "%-16s%-12d%-6d%-6d%-8s%-10d`\n", member.name, r.at.Unix(), 0, 0, "100644", len(member.data)) // ar(5)
		b.Write(member.data)
		if len(member.data)%2 != 0 {
			b.WriteByte('\n')
		}
	}
	return b.Bytes()
}

// image returns an image of the binary alone, as 'docker save' writes it (the Docker image specification, v1.2, Combined Image JSON + Filesystem Changeset
// Format). It is that of compose/generator/Dockerfile, and needs no Docker to build.
func (r *release) image(arch string, binary []byte) []byte {
	layer := tarred(r.at, []file{{"zkbench", 0o755, binary}})
	digest := fmt.Sprintf("%x", sha256.Sum256(layer))
	config, err := json.Marshal(map[string]any{
		"architecture": arch, "os": "linux", "created": r.at.Format(time.RFC3339),
		"config": map[string]any{"Entrypoint": []string{"/zkbench"}, "Cmd": []string{"--help"},
			"Labels": map[string]string{"zkbench": "image", "org.opencontainers.image.version": r.version}},
		"rootfs":  map[string]any{"type": "layers", "diff_ids": []string{"sha256:" + digest}},
		"history": []map[string]any{{"created": r.at.Format(time.RFC3339), "created_by": "make dist"}},
	})
	must(err)
	name := fmt.Sprintf("%x.json", sha256.Sum256(config))
	manifest, err := json.Marshal([]map[string]any{{"Config": name, "RepoTags": []string{"zkbench/zkbench:" + r.version, "zkbench/zkbench:latest"},
		"Layers": []string{digest + "/layer.tar"}}})
	must(err)
	return tarball(r.at, []file{{"manifest.json", 0o644, manifest}, {name, 0o644, config}, {digest + "/layer.tar", 0o644, layer}})
}
