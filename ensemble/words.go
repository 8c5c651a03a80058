package ensemble

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
)

// askWord sends a four-letter word and returns the server's text. A server that does not know a quorum answers nearly every
// word with the same sentence, and one whose whitelist lacks the word with another.
func askWord(ctx context.Context, address, word string) (string, error) {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	defer conn.Close()
	if deadline, ok := ctx.Deadline(); ok {
		conn.SetDeadline(deadline)
	}
	if _, err := io.WriteString(conn, word); err != nil {
		return "", fmt.Errorf("%s does not take %s: %w: %w", address, word, ErrUnreachable, err)
	}
	text, err := io.ReadAll(io.LimitReader(conn, 16<<20))
	if err != nil {
		return "", fmt.Errorf("%s does not answer %s: %w: %w", address, word, ErrUnreachable, err)
	}
	return string(text), judgeWord(address, word, string(text))
}

// judgeWord tells an answer from a refusal.
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

// askVersion reads ZooKeeper's version from srvr, which every server carries out unless it was forbidden.
func askVersion(ctx context.Context, address string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	text, err := askWord(ctx, address, "srvr")
	if err != nil {
		return "", err
	}
	line, _, _ := strings.Cut(text, "\n")
	_, version, _ := strings.Cut(line, ":")
	if version = plainVersion(version); version == "" {
		return "", fmt.Errorf("%s: srvr says no version: %q", address, line)
	}
	return version, nil
}

// askAdmin asks an AdminServer at host:port: /commands/monitor says what mntr says, /commands/configuration what conf says.
func askAdmin(ctx context.Context, admin, command string) (map[string]float64, map[string]string, error) {
	url := "http://" + admin + "/commands/" + command
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, nil, err
	}
	// No connection is kept: who looks once a second must not occupy one of the server's few threads.
	request.Close = true
	response, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(request)
	if err != nil {
		return nil, nil, fmt.Errorf("%w; start the server with admin.enableServer=true", err)
	}
	defer response.Body.Close()
	values, texts, err := parseAdmin(response.Body)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %s: %w", url, response.Status, err)
	}
	return values, texts, nil
}

// parseAdmin reads the AdminServer's JSON object. Its error field is null, or says why there is nothing else.
func parseAdmin(body io.Reader) (map[string]float64, map[string]string, error) {
	var object map[string]any
	if err := json.NewDecoder(io.LimitReader(body, 16<<20)).Decode(&object); err != nil {
		return nil, nil, err
	}
	values, texts := map[string]float64{}, map[string]string{}
	for name, value := range object {
		switch value := value.(type) {
		case float64:
			values[name] = value
		case string:
			texts[name] = value
		}
	}
	if fault, ok := texts["error"]; ok && fault != "" {
		if strings.Contains(fault, "not currently serving requests") {
			return nil, nil, fmt.Errorf("%w: %s", ErrNoQuorum, fault)
		}
		return nil, nil, fmt.Errorf("it says: %s", fault)
	}
	return values, texts, nil
}

// mntrNames gives the AdminServer's names mntr's prefix.
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
