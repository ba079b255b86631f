// Command surface prints the exported names of the packages in the folders that it gets, with their types, as one JSON object. Names of
// parameters are not part of a type. Errors and constants have their values.
package main

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"strings"
)

type surface map[string]string

func main() {
	found := surface{}
	for _, folder := range os.Args[1:] {
		files, err := filepath.Glob(filepath.Join(folder, "*.go"))
		if err != nil || len(files) == 0 {
			fmt.Fprintf(os.Stderr, "no Go files in %q: %v\n", folder, err)
			os.Exit(1)
		}
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
			if err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			for _, declaration := range file.Decls {
				found.add(file.Name.Name, declaration)
			}
		}
	}
	text, _ := json.Marshal(found)
	fmt.Println(string(text))
}

func (s surface) add(packageName string, declaration ast.Decl) {
	switch declared := declaration.(type) {
	case *ast.FuncDecl:
		name := declared.Name.Name
		if declared.Recv != nil {
			name = strings.TrimPrefix(types.ExprString(declared.Recv.List[0].Type), "*") + "." + name
		}
		s.put(packageName, name, signature(declared.Type))
	case *ast.GenDecl:
		for _, each := range declared.Specs {
			switch spec := each.(type) {
			case *ast.TypeSpec:
				s.addType(packageName, spec)
			case *ast.ValueSpec:
				for index, name := range spec.Names {
					s.put(packageName, name.Name, value(spec, index))
				}
			}
		}
	}
}

func (s surface) addType(packageName string, spec *ast.TypeSpec) {
	name := spec.Name.Name
	switch described := spec.Type.(type) {
	case *ast.StructType:
		s.put(packageName, name, "struct")
		for _, field := range described.Fields.List {
			for _, each := range field.Names {
				s.put(packageName, name+"."+each.Name, types.ExprString(field.Type))
			}
		}
	case *ast.InterfaceType:
		s.put(packageName, name, "interface")
		for _, method := range described.Methods.List {
			if function, ok := method.Type.(*ast.FuncType); ok {
				s.put(packageName, name+"."+method.Names[0].Name, signature(function))
			}
		}
	case *ast.FuncType:
		s.put(packageName, name, "func")
	default:
		s.put(packageName, name, types.ExprString(described))
	}
}

func (s surface) put(packageName, name, described string) {
	for part := range strings.SplitSeq(name, ".") {
		if !ast.IsExported(part) {
			return
		}
	}
	s[packageName+"."+name] = described
}

func signature(function *ast.FuncType) string {
	text := "func(" + strings.Join(typesOf(function.Params), ", ") + ")"
	results := typesOf(function.Results)
	switch len(results) {
	case 0:
		return text
	case 1:
		return text + " " + results[0]
	}
	return text + " (" + strings.Join(results, ", ") + ")"
}

func typesOf(fields *ast.FieldList) []string {
	var list []string
	if fields == nil {
		return list
	}
	for _, field := range fields.List {
		for range max(1, len(field.Names)) {
			list = append(list, types.ExprString(field.Type))
		}
	}
	return list
}

func value(spec *ast.ValueSpec, index int) string {
	if index >= len(spec.Values) {
		return types.ExprString(spec.Type)
	}
	text := types.ExprString(spec.Values[index])
	if made, ok := spec.Values[index].(*ast.CallExpr); ok && types.ExprString(made.Fun) == "errors.New" {
		return "error " + types.ExprString(made.Args[0])
	}
	return text
}
