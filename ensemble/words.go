package ensemble

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/zkbench/zkbench/zk"
)

// Dialer opens a connection to a server, like net.Dialer.DialContext; nil means plain connections, others use TLS.
type Dialer func(ctx context.Context, network, address string) (net.Conn, error)

func (d Dialer) open(ctx context.Context, address string) (net.Conn, error) {
	if d == nil {
		return new(net.Dialer).DialContext(ctx, "tcp", address)
	}
	return d(ctx, "tcp", address)
}

// askWord sends a four-letter word and returns the server's text. A server without a quorum answers nearly every
// word with the same sentence, and a server whose whitelist lacks the word answers with another.
func (d Dialer) askWord(ctx context.Context, address, word string) (string, error) {
	return d.askUpTo(ctx, address, word, maxAnswer)
}

// askUpTo is askWord for an answer of at most most bytes.
func (d Dialer) askUpTo(ctx context.Context, address, word string, most int) (string, error) {
	conn, err := d.open(ctx, address)
	if err != nil {
		return "", unreachable{err}
	}
	defer conn.Close()
	if deadline, ok := ctx.Deadline(); ok {
		conn.SetDeadline(deadline)
	}
	if _, err := io.WriteString(conn, word); err != nil {
		return "", unreachable{fmt.Errorf("%s does not take %s: %w", address, word, err)}
	}
	text, err := io.ReadAll(io.LimitReader(conn, int64(most)+1))
	if err != nil {
		return "", unreachable{fmt.Errorf("%s does not answer %s: %w", address, word, err)}
	}
	if len(text) > most {
		return "", fmt.Errorf("%s answers %s with more than %d KiB: %w: it is not a ZooKeeper server", address, word, most>>10, ErrUnreachable)
	}
	return string(text), judgeWord(address, word, string(text))
}

// maxAnswer limits the size of a server's answer: mntr returns about 10 KiB.
const maxAnswer = 1 << 20

// judgeWord distinguishes an answer from a refusal.
func judgeWord(address, word, text string) error {
	switch {
	case strings.Contains(text, "not executed because it is not in the whitelist"), strings.TrimSpace(text) == "":
		return fmt.Errorf("%w: %s does not carry out %s; add 4lw.commands.whitelist=mntr,srvr,conf to the server's zoo.cfg",
			ErrWordsOff, address, word)
	case strings.Contains(text, "not currently serving requests"):
		return fmt.Errorf("%w: %s runs but does not serve", ErrNoQuorum, address)
	}
	return nil
}

// Version reads ZooKeeper's version from srvr, which every server answers unless it is disabled.
func (d Dialer) Version(ctx context.Context, address string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, d.within())
	defer cancel()
	text, err := d.askWord(ctx, address, "srvr")
	if err != nil {
		return "", err
	}
	line, _, _ := strings.Cut(text, "\n")
	_, version, _ := strings.Cut(line, ":")
	if version = PlainVersion(version); version == "" {
		return "", fmt.Errorf("%s: srvr says no version: %q", address, line)
	}
	return version, nil
}

// Powers says what the servers can do: what the oldest of their versions can or, if no server reports its version, what requests of a session show.
func (p Probe) Powers(ctx context.Context) zk.Powers {
	versions, off := make([]string, len(p.Hosts)), make([]bool, len(p.Hosts))
	var all sync.WaitGroup
	for i, address := range p.Hosts {
		all.Go(func() {
			version, err := p.Dial.Version(ctx, address)
			versions[i], off[i] = version, errors.Is(err, ErrWordsOff)
		})
	}
	all.Wait()
	powers := zk.PowersOf(versions...)
	for i := 0; i < len(p.Hosts) && powers.Version == ""; i++ {
		ctx, cancel := context.WithTimeout(ctx, p.Dial.within())
		found, err := p.Dial.probePowers(ctx, p.Hosts[i])
		cancel()
		if err == nil {
			powers = found
			break
		}
	}
	if slices.Contains(off, true) {
		powers = powers.Without(zk.PowerWords)
	}
	return powers
}

// askAdmin asks an AdminServer at host:port: /commands/monitor corresponds to mntr, /commands/configuration to conf.
func askAdmin(ctx context.Context, admin, command string) (map[string]float64, map[string]string, error) {
	object, err := adminObject(ctx, admin, command)
	if err != nil {
		return nil, nil, err
	}
	values, texts := flat(object)
	return values, texts, nil
}

// adminObject returns the JSON object that an AdminServer answers with.
func adminObject(ctx context.Context, admin, command string) (map[string]any, error) {
	url := "http://" + admin + "/commands/" + command
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	// Do not keep the connection: a poll once per second must not occupy one of the server's few threads.
	request.Close = true
	response, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(request)
	if err != nil {
		return nil, fmt.Errorf("%w; start the server with admin.enableServer=true", err)
	}
	defer response.Body.Close()
	object, err := decodeAdmin(response.Body)
	if err != nil {
		return nil, fmt.Errorf("%s: %s: %w", url, response.Status, err)
	}
	return object, nil
}

// decodeAdmin decodes the AdminServer's JSON object. Its error field is null, or says why there is nothing else.
func decodeAdmin(body io.Reader) (map[string]any, error) {
	var object map[string]any
	if err := json.NewDecoder(io.LimitReader(body, maxAnswer)).Decode(&object); err != nil {
		return nil, err
	}
	if said, ok := object["error"].(string); ok && said != "" {
		if strings.Contains(said, "not currently serving requests") {
			return nil, fmt.Errorf("%w: %s", ErrNoQuorum, said)
		}
		return nil, fmt.Errorf("it says: %s", said)
	}
	return object, nil
}

// flat returns the numbers and texts of an object, without nested values.
func flat(object map[string]any) (map[string]float64, map[string]string) {
	values, texts := map[string]float64{}, map[string]string{}
	for name, value := range object {
		switch value := value.(type) {
		case float64:
			values[name] = value
		case string:
			texts[name] = value
		}
	}
	return values, texts
}

// mntrNames adds mntr's prefix to the AdminServer's names.
func mntrNames(values map[string]float64, texts map[string]string) (map[string]float64, map[string]string) {
	named, words := make(map[string]float64, len(values)), make(map[string]string, len(texts))
	for name, value := range values {
		named["zk_"+name] = value
	}
	for name, value := range texts {
		words["zk_"+name] = value
	}
	return named, words
}

// Tick reads a server's tickTime from conf; 0 if the server does not report it.
func (d Dialer) Tick(ctx context.Context, address string) time.Duration {
	conf, err := d.askWord(ctx, address, "conf")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(conf) {
		if ms, ok := strings.CutPrefix(strings.TrimSpace(line), "tickTime="); ok {
			n, _ := strconv.Atoi(ms)
			return time.Duration(n) * time.Millisecond
		}
	}
	return 0
}

// Answers reports whether a server answers within a second, even if it does not serve. A server that has just started to listen may leave the first
// question unanswered.
func (d Dialer) Answers(ctx context.Context, address string) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	_, err := d.askWord(ctx, address, "srvr")
	return err == nil || errors.Is(err, ErrNoQuorum) || errors.Is(err, ErrWordsOff)
}

// Serves returns nil if a write goes through the server. It asks srvr first, because a server without a quorum writes a stack
// trace into its log for every session it rejects, and the log must stay readable for real problems.
func (d Dialer) Serves(ctx context.Context, address string) error {
	if _, err := d.askWord(ctx, address, "srvr"); err != nil && !errors.Is(err, ErrWordsOff) {
		return err
	}
	return d.probeWrite(ctx, address)
}

var leadingVersion = regexp.MustCompile(`^\d+\.\d+\.\d+(-alpha|-beta|-SNAPSHOT)?`)

// PlainVersion strips a build suffix: "3.8.0-5a02a05, built on ..." becomes 3.8.0.
func PlainVersion(text string) string {
	return leadingVersion.FindString(strings.TrimSpace(text))
}

// unreachable is ErrUnreachable for one server, with only the text of its cause: a report about all servers says once that they are unreachable.
type unreachable struct{ error }

func (u unreachable) Unwrap() []error { return []error{ErrUnreachable, u.error} }
