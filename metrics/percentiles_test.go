package metrics

import (
	"bytes"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/internal/tier"
)

const (
	jar       = "/usr/share/java/hdrhistogram.jar"
	jarRemedy = "apt-get install default-jdk-headless libhdrhistogram-java"
)

// printer decodes the payloads on its input, one per line, and prints the distribution of each.
const printer = `
import org.HdrHistogram.*;
import java.nio.ByteBuffer;
import java.util.*;
public class Printer {
	public static void main(String[] args) throws Exception {
		Scanner lines = new Scanner(System.in);
		while (lines.hasNextLine())
			Histogram.decodeFromCompressedByteBuffer(ByteBuffer.wrap(Base64.getDecoder().decode(lines.nextLine())), 0)
				.outputPercentileDistribution(System.out, 5, 1e6);
	}
}`

// The distribution is byte for byte what the Java reference implementation prints: of one value, of ties and of long tails.
func TestPercentilesMatchJava(t *testing.T) {
	tier.Long(t, "compiles and starts Java; none shorter can exist, because only Java says what Java prints")
	ensembletest.Need(t, "libhdrhistogram-java:"+jar, "default-jdk-headless:javac")
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "Printer.java"), []byte(printer), 0o644); err != nil {
		t.Fatal(err)
	}
	var payloads, want bytes.Buffer
	r := rand.New(rand.NewPCG(3, 1))
	for _, n := range []int{1, 2, 3, 5, 9, 10, 11, 99, 100, 101, 1000, 4096, 30_000} {
		for _, width := range []float64{0, 0.1, 1, 3} {
			h := NewHistogram()
			for range n {
				h.Record(min(time.Duration(math.Exp(width*r.NormFloat64())*float64(7*time.Millisecond)), HighestValue))
			}
			payload, err := h.Encode()
			if err != nil {
				t.Fatal(err)
			}
			payloads.Write(append(payload, '\n'))
			if err := h.WritePercentiles(&want); err != nil {
				t.Fatal(err)
			}
		}
	}
	compile := exec.CommandContext(t.Context(), "javac", "-cp", jar, "Printer.java")
	compile.Dir = dir
	if text, err := compile.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v (%s)\n%s", compile, err, jarRemedy, text)
	}
	run := exec.CommandContext(t.Context(), "java", "-Duser.language=en", "-cp", jar+":"+dir, "Printer")
	run.Stdin = &payloads
	got, err := run.Output()
	if err != nil {
		t.Fatal(err)
	}
	java, ours := bytes.Split(got, []byte("\n")), bytes.Split(want.Bytes(), []byte("\n"))
	for i := range max(len(java), len(ours)) {
		if i >= len(java) || i >= len(ours) || !bytes.Equal(java[i], ours[i]) {
			t.Fatalf("line %d differs:\nJava:\n%s\nours:\n%s", i+1, bytes.Join(java[max(i-3, 0):min(i+6, len(java))], []byte("\n")), bytes.Join(ours[max(i-3, 0):min(i+6, len(ours))], []byte("\n")))
		}
	}
}
