package command

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/zkbench/zkbench/results"
)

// shipVariable is the environment variable for --ship, because a signed URL is secret and a command line is not.
const shipVariable = "ZKBENCH_SHIP"

const (
	shipTries   = 3
	shipPause   = time.Second
	shipTimeout = 10 * time.Minute // of one attempt
)

// shipTarget returns the URL that the result of a share is sent to. If the address ends with /, it appends the name of the directory.
func shipTarget(address, dir string) (*url.URL, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("--ship: must be http://host/path or https://host/path, to which the tar of the result is PUT") // the address is left out because it may contain a secret
	}
	if strings.HasSuffix(u.Path, "/") {
		u.Path += filepath.Base(dir) + ".tar"
	}
	return u, nil
}

// public returns a URL without the parts that may be secret.
func public(u *url.URL) string {
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

// concealed returns a command line without the secret parts of the URLs of --ship.
func concealed(args []string) (all []string) {
	for i, arg := range args {
		value, joined := strings.CutPrefix(arg, "--ship=")
		switch u, err := url.Parse(value); {
		case joined && err == nil:
			arg = "--ship=" + public(u)
		case joined:
			arg = "--ship=..."
		case i > 0 && args[i-1] == "--ship":
			if u, err := url.Parse(arg); err == nil {
				arg = public(u)
			} else {
				arg = "..."
			}
		}
		all = append(all, arg)
	}
	return all
}

// ship sends the directory of a result as one tar. Its error says that the result is still there.
func ship(ctx context.Context, address, dir string) error {
	u, err := shipTarget(address, dir)
	if err != nil {
		return err
	}
	file, err := packed(dir)
	if err != nil {
		return fmt.Errorf("ship %s: %w (it is still there: copy it)", dir, err)
	}
	defer func() {
		file.Close()
		os.Remove(file.Name())
	}()
	for try := 1; ; try++ {
		again, err := put(ctx, u, file)
		if err == nil {
			return nil
		}
		if !again || try == shipTries {
			return fmt.Errorf("ship to %s: %w (the result is still in %s: copy it)", public(u), err, dir)
		}
		select {
		case <-time.After(shipPause):
		case <-ctx.Done():
			return fmt.Errorf("ship to %s: %w (the result is still in %s: copy it)", public(u), ctx.Err(), dir)
		}
	}
}

// put sends a file. It sets again if another attempt may succeed.
func put(ctx context.Context, u *url.URL, file *os.File) (again bool, err error) {
	size, err := file.Seek(0, 2)
	if err == nil {
		_, err = file.Seek(0, 0)
	}
	if err != nil {
		return false, err
	}
	ctx, cancel := context.WithTimeout(ctx, shipTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPut, u.String(), file)
	if err != nil {
		return false, err
	}
	request.GetBody, request.ContentLength = nil, size
	request.Body = keepOpen{file}
	request.Header.Set("Content-Type", "application/x-tar")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		if inner, is := err.(*url.Error); is { // its text contains the whole URL
			err = inner.Err
		}
		return true, err
	}
	defer response.Body.Close()
	if response.StatusCode/100 != 2 {
		return response.StatusCode >= 500, fmt.Errorf("the server answered %s", response.Status)
	}
	return false, nil
}

// keepOpen is a file that a request does not close, for the next attempt.
type keepOpen struct{ *os.File }

func (keepOpen) Close() error { return nil }

// packed writes a directory as a tar to a temporary file beside it, which the caller removes.
func packed(dir string) (*os.File, error) {
	file, err := os.CreateTemp(filepath.Dir(dir), ".ship-*")
	if err != nil {
		return nil, err
	}
	w := tar.NewWriter(file)
	err = addAll(w, dir)
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		file.Close()
		os.Remove(file.Name())
		return nil, err
	}
	return file, nil
}

// addAll adds the regular files of a directory to a tar, below the directory's name.
func addAll(w *tar.Writer, dir string) error {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if !e.Type().IsRegular() || err != nil {
			continue
		}
		err = addFile(w, filepath.Join(dir, e.Name()), filepath.Base(dir)+"/"+e.Name())
	}
	return err
}

func addFile(w *tar.Writer, path, name string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: info.Size(), ModTime: info.ModTime()}); err != nil {
		return err
	}
	_, err = io.CopyN(w, f, info.Size())
	return err
}

// shipped sends the result of a share to the URL of --ship, once the result is complete.
func (a *app) shipped(ctx context.Context, f fleetFlags, dir *results.Dir, quiet bool) error {
	if f.ship == "" {
		return nil
	}
	if err := dir.Close(); err != nil {
		return err
	}
	if err := ship(ctx, f.ship, dir.Path()); err != nil {
		return err
	}
	u, _ := shipTarget(f.ship, dir.Path())
	a.tell(quiet, "shipped the result to %s", public(u))
	return nil
}

// packedBytes returns a directory as a compressed tar.
func packedBytes(dir string) ([]byte, error) {
	var text bytes.Buffer
	z := gzip.NewWriter(&text)
	w := tar.NewWriter(z)
	err := cmp.Or(addAll(w, dir), w.Close(), z.Close())
	return text.Bytes(), err
}

// unpacked writes the files of packedBytes into a directory.
func unpacked(data []byte, dir string) error {
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		f, err := os.OpenFile(filepath.Join(dir, filepath.Base(h.Name)), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if err != nil {
			return err
		}
		_, err = io.Copy(f, r)
		if err := errors.Join(err, f.Close()); err != nil {
			return err
		}
	}
}
