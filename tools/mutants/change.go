package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/printer"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// A mutant is one change of the product code.
type mutant struct {
	file, function string
	line           int
	from, to       string
	fate           fate
}

// String names a mutant so that it is found again when lines move, and files to other directories.
func (m mutant) String() string {
	return fmt.Sprintf("%s %s: %s -> %s", filepath.Base(m.file), m.function, m.from, m.to)
}

// builder makes the changed sources and the test programs.
type builder struct {
	dir, only string
	mutants   []mutant
	overlay   map[string]string // for the compiler: a file and its replacement
	refused   map[string]bool   // FILE:LINE that did not compile when changed
}

const switchPackage = "github.com/zkbench/zkbench/internal/on" // exists only in the overlay

// listed is what 'go list' reports about a package.
type listed struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
	DepOnly                 bool
}

// change writes a changed copy of every file of the packages, with all mutants in it.
func (b *builder) change(packages []string) error {
	out, err := exec.Command("go", append([]string{"list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles,DepOnly"}, packages...)...).Output()
	if err != nil {
		return fmt.Errorf("go list: %w", err)
	}
	exports := map[string]string{}
	var chosen []listed
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := d.Decode(&p); err == io.EOF {
			break
		} else if err != nil {
			return err
		}
		exports[p.ImportPath] = p.Export
		if !p.DepOnly {
			chosen = append(chosen, p)
		}
	}
	b.overlay, b.mutants = map[string]string{}, nil
	for _, p := range chosen {
		if err := b.changePackage(p, exports); err != nil {
			return fmt.Errorf("%s: %w", p.ImportPath, err)
		}
	}
	root, err := os.Getwd()
	if err != nil {
		return err
	}
	on := filepath.Join(b.dir, "on.go")
	b.overlay[filepath.Join(root, "internal/on/on.go")] = on
	return os.WriteFile(on, []byte(switchSource), 0o644)
}

func (b *builder) changePackage(p listed, exports map[string]string) error {
	fset := token.NewFileSet()
	var files []*ast.File
	for _, name := range p.GoFiles {
		f, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, parser.ParseComments)
		if err != nil {
			return err
		}
		files = append(files, f)
	}
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}}
	conf := types.Config{Importer: importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })}
	if _, err := conf.Check(p.ImportPath, fset, files, info); err != nil {
		return err
	}
	root, err := os.Getwd()
	if err != nil {
		return err
	}
	for i, f := range files {
		path := filepath.Join(p.Dir, p.GoFiles[i])
		short, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if !strings.Contains(short, b.only) {
			continue
		}
		src, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		c := changer{b: b, fset: fset, info: info, file: short, src: src}
		if text := c.change(f); text != nil {
			to := filepath.Join(b.dir, strings.ReplaceAll(short, string(filepath.Separator), "_"))
			if err := os.WriteFile(to, text, 0o644); err != nil {
				return err
			}
			b.overlay[path] = to
		}
	}
	return nil
}

// changer rewrites one file as text, so that comments and directives stay where they are.
type changer struct {
	b        *builder
	fset     *token.FileSet
	info     *types.Info
	file     string
	src      []byte
	function string
	edits    []edit
}

// edit inserts text before an offset. Edits at one offset are inserted in the order in which they were made, those of a closing part in reverse order.
type edit struct {
	at    int
	text  string
	close bool
}

func (c *changer) change(f *ast.File) []byte {
	for _, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil {
			c.function = functionName(fn)
			c.walk(fn.Body)
		}
	}
	if len(c.edits) == 0 {
		return nil
	}
	slices.SortStableFunc(c.edits, func(a, b edit) int { return a.at - b.at })
	var out bytes.Buffer
	at := 0
	for i := 0; i < len(c.edits); {
		j := i
		for j < len(c.edits) && c.edits[j].at == c.edits[i].at {
			j++
		}
		out.Write(c.src[at:c.edits[i].at])
		at = c.edits[i].at
		for k := j - 1; k >= i; k-- { // what ends here was opened in the opposite order
			if c.edits[k].close {
				out.WriteString(c.edits[k].text)
			}
		}
		for k := i; k < j; k++ {
			if !c.edits[k].close {
				out.WriteString(c.edits[k].text)
			}
		}
		i = j
	}
	out.Write(c.src[at:])
	end := c.offset(f.Name.End())
	text := out.Bytes()
	head := slices.Concat(text[:end], []byte("; import mutantOn "+strconv.Quote(switchPackage)))
	return append(head, text[end:]...)
}

func functionName(fn *ast.FuncDecl) string {
	if fn.Recv == nil || len(fn.Recv.List) == 0 {
		return fn.Name.Name
	}
	t := fn.Recv.List[0].Type
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.IndexListExpr:
			t = x.X
		default:
			return fmt.Sprint(t.(*ast.Ident).Name, ".", fn.Name.Name)
		}
	}
}

func (c *changer) offset(p token.Pos) int { return c.fset.Position(p).Offset }

// walk plants the mutants of a node and of what is in it.
func (c *changer) walk(n ast.Node) {
	ast.Inspect(n, func(n ast.Node) bool {
		if n != nil && c.b.refused[fmt.Sprint(c.file, ":", c.fset.Position(n.Pos()).Line)] {
			return true
		}
		switch n := n.(type) {
		case *ast.GenDecl:
			return n.Tok != token.CONST
		case *ast.ArrayType:
			return false
		case *ast.BinaryExpr:
			c.binary(n)
		case *ast.IncDecStmt:
			c.step(n)
		}
		return true
	})
}

// plant records a mutant and returns the expression that is true when the mutant is chosen.
func (c *changer) plant(n ast.Node, to string) string {
	var from bytes.Buffer
	printer.Fprint(&from, c.fset, n)
	c.b.mutants = append(c.b.mutants, mutant{file: c.file, function: c.function, line: c.fset.Position(n.Pos()).Line,
		from: strings.Join(strings.Fields(from.String()), " "), to: to})
	return fmt.Sprintf("mutantOn.Is(%d)", len(c.b.mutants)-1)
}

func (c *changer) insert(at token.Pos, text string, close bool) {
	c.edits = append(c.edits, edit{c.offset(at), text, close})
}

// moved maps comparisons to comparisons moved by one.
var moved = map[token.Token]string{token.LSS: "<=", token.LEQ: "<", token.GTR: ">=", token.GEQ: ">"}

// turned maps arithmetic operations to their opposites.
var turned = map[token.Token]string{token.ADD: "Sub", token.SUB: "Add", token.MUL: "Quo", token.QUO: "Mul", token.REM: "Mul"}

var arithmetic = map[token.Token]string{token.ADD: "Add", token.SUB: "Sub", token.MUL: "Mul", token.QUO: "Quo", token.REM: "Rem"}

func (c *changer) binary(e *ast.BinaryExpr) {
	t := c.info.Types[e]
	if t.Value != nil { // a constant
		return
	}
	switch e.Op {
	case token.EQL, token.NEQ, token.LSS, token.LEQ, token.GTR, token.GEQ:
		if b, ok := t.Type.Underlying().(*types.Basic); !ok || b.Info()&types.IsBoolean == 0 {
			return
		}
		negated := c.plant(e, "not "+e.Op.String())
		if to, ok := moved[e.Op]; ok && !c.textual(e.X, e.Y) {
			by := c.plant(e, to)
			name := map[token.Token]string{token.LSS: "Less", token.LEQ: "LessEqual", token.GTR: "Greater", token.GEQ: "GreaterEqual"}[e.Op]
			c.call(e, "mutantOn."+name+"("+negated+", "+by)
			return
		}
		c.insert(e.Pos(), "("+negated+" != (", false)
		c.insert(e.End(), "))", true)
	case token.LAND, token.LOR:
		other := map[token.Token]string{token.LAND: "||", token.LOR: "&&"}[e.Op]
		on := c.plant(e, other)
		name := map[token.Token]string{token.LAND: "And", token.LOR: "Or"}[e.Op]
		c.insert(e.Pos(), "mutantOn."+name+"("+on+", (", false)
		c.insert(e.OpPos, "), func() bool { return bool(", false)
		c.blank(e)
		c.insert(e.End(), ") })", true)
	case token.ADD, token.SUB, token.MUL, token.QUO, token.REM:
		b, ok := t.Type.Underlying().(*types.Basic)
		if !ok || b.Info()&types.IsNumeric == 0 || b.Info()&types.IsUntyped != 0 || e.Op == token.REM && b.Info()&types.IsInteger == 0 {
			return
		}
		on := c.plant(e, turned[e.Op])
		c.call(e, "mutantOn."+arithmetic[e.Op]+"("+on)
	}
}

// textual reports whether the operands are text, whose order is seldom moved by one.
func (c *changer) textual(x, y ast.Expr) bool {
	for _, e := range []ast.Expr{x, y} {
		if b, ok := c.info.Types[e].Type.Underlying().(*types.Basic); !ok || b.Info()&types.IsString != 0 {
			return true
		}
	}
	return false
}

// call turns 'x op y' into 'f, x, y)'.
func (c *changer) call(e *ast.BinaryExpr, f string) {
	c.insert(e.Pos(), f+", ", false)
	c.insert(e.OpPos, ", ", false)
	c.blank(e)
	c.insert(e.End(), ")", true)
}

// blank overwrites the operator with spaces.
func (c *changer) blank(e *ast.BinaryExpr) {
	at := c.offset(e.OpPos)
	for i := range len(e.Op.String()) {
		c.src[at+i] = ' '
	}
}

func (c *changer) step(s *ast.IncDecStmt) {
	to, call := "--", "mutantOn.Up("
	if s.Tok == token.DEC {
		to, call = "++", "mutantOn.Down("
	}
	switch s.X.(type) {
	case *ast.Ident, *ast.SelectorExpr:
	default:
		return // an index must be evaluated only once
	}
	on := c.plant(s, to)
	at := c.offset(s.TokPos)
	c.src[at], c.src[at+1] = ' ', ' '
	c.insert(s.Pos(), call+on+", &", false)
	c.insert(s.TokPos, ")", true)
}
