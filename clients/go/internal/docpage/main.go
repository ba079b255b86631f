// Command docpage prints the reference page of a Go package as Markdown: what it exports, with signatures, comments and examples.
package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/doc"
	"go/doc/comment"
	"go/parser"
	"go/printer"
	"go/token"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: docpage FOLDER IMPORT-PATH")
		os.Exit(2)
	}
	if err := print(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintf(os.Stderr, "cannot describe %s: %v\n", os.Args[1], err)
		os.Exit(1)
	}
}

type page struct {
	files *token.FileSet
	doc   *doc.Package
}

func print(folder, importPath string) error {
	names, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		return err
	}
	files := token.NewFileSet()
	var parsed []*ast.File
	for _, name := range names {
		file, err := parser.ParseFile(files, name, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		parsed = append(parsed, file)
	}
	described, err := doc.NewFromFiles(files, parsed, importPath)
	if err != nil {
		return err
	}
	p := page{files: files, doc: described}
	p.text(described.Doc)
	p.examples(described.Examples)
	p.values(described.Consts)
	p.values(described.Vars)
	for _, function := range described.Funcs {
		p.function("##", function.Name, function)
	}
	for _, t := range described.Types {
		p.describeType(t)
	}
	return nil
}

func (p page) describeType(t *doc.Type) {
	fmt.Printf("## %s\n\n", t.Name)
	p.text(t.Doc)
	p.code(t.Decl)
	p.examples(t.Examples)
	p.values(t.Consts)
	p.values(t.Vars)
	for _, function := range t.Funcs {
		p.function("###", function.Name, function)
	}
	for _, method := range t.Methods {
		p.function("###", t.Name+"."+method.Name, method)
	}
}

func (p page) function(level, name string, f *doc.Func) {
	fmt.Printf("%s %s\n\n", level, name)
	f.Decl.Body, f.Decl.Doc = nil, nil
	p.code(f.Decl)
	p.text(f.Doc)
	p.examples(f.Examples)
}

func (p page) values(values []*doc.Value) {
	for _, value := range values {
		p.text(value.Doc)
		p.code(value.Decl)
	}
}

func (p page) text(text string) {
	printer := p.doc.Printer()
	printer.HeadingLevel = 4
	printer.HeadingID = func(*comment.Heading) string { return "" }
	if markdown := printer.Markdown(p.doc.Parser().Parse(text)); len(markdown) > 0 {
		fmt.Printf("%s\n", markdown)
	}
}

func (p page) code(node any) {
	// The comment of a declaration is printed as text.
	if declaration, ok := node.(*ast.GenDecl); ok {
		declaration.Doc = nil
	}
	fmt.Printf("```\n%s\n```\n\n", p.source(node))
}

// Examples that are whole programs can be run as they are. Their comment has the output: as the last comment of the function, where Go
// expects it, it would make go test run them, and they need a box.
func (p page) examples(examples []*doc.Example) {
	for _, example := range examples {
		if example.Play == nil {
			continue
		}
		fmt.Printf("```go\n%s\n// %s\n```\n\n", strings.TrimSpace(p.source(example.Play)), strings.ReplaceAll(strings.TrimSpace(example.Doc), "\n", "\n// "))
	}
}

func (p page) source(node any) string {
	var text bytes.Buffer
	config := printer.Config{Mode: printer.UseSpaces | printer.TabIndent, Tabwidth: 8}
	if err := config.Fprint(&text, p.files, node); err != nil {
		return err.Error()
	}
	return text.String()
}
