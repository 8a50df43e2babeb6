package lint

import (
	"go/ast"
	"go/token"
	"regexp"
	"strings"
	"testing"
)

// maxLines is where a file has more than one concept.
const maxLines = 600

func TestFileLength(t *testing.T) {
	for _, f := range allSources(t) {
		if f.lines > maxLines {
			t.Errorf("%s has %d lines, more than %d: cut it by concept", f.path, f.lines, maxLines)
		}
	}
}

// Every package has a doc.go whose comment says what the package is for and,
// under Caveats, what will hurt its users.
func TestPackageDocumentation(t *testing.T) {
	docs, packages := map[string]string{}, map[string]bool{}
	for _, f := range allSources(t) {
		if f.test {
			continue
		}
		packages[f.pkg] = true
		if strings.HasSuffix(f.path, "/doc.go") && f.ast.Doc != nil {
			docs[f.pkg] = f.ast.Doc.Text()
		}
	}
	for pkg := range packages {
		switch doc := docs[pkg]; {
		case doc == "":
			t.Errorf("package %s has no doc.go with a package comment", pkg)
		case !strings.Contains(doc, "# Caveats"):
			t.Errorf("%s/doc.go has no Caveats section", pkg)
		}
	}
}

// Every exported name of a library has a comment.
func TestExportedNamesAreDocumented(t *testing.T) {
	for _, f := range allSources(t) {
		if f.test || f.ast.Name.Name == "main" {
			continue
		}
		for _, decl := range f.ast.Decls {
			for _, name := range undocumented(decl) {
				t.Errorf("%s: exported %s has no comment", f.path, name)
			}
		}
	}
}

// undocumented lists the exported names of a declaration without a comment; one
// comment may serve a group.
func undocumented(decl ast.Decl) (names []string) {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		if d.Doc == nil && d.Name.IsExported() && (d.Recv == nil || exportedReceiver(d.Recv)) && !conventional[d.Name.Name] {
			names = append(names, d.Name.Name)
		}
	case *ast.GenDecl:
		if d.Doc != nil || d.Tok == token.IMPORT || isEnum(d) {
			return nil
		}
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.TypeSpec:
				if s.Name.IsExported() && s.Doc == nil {
					names = append(names, s.Name.Name)
				}
			case *ast.ValueSpec:
				for _, n := range s.Names {
					if n.IsExported() && s.Doc == nil && s.Comment == nil {
						names = append(names, n.Name)
					}
				}
			}
		}
	}
	return names
}

// isEnum reports whether a group lists the values of a type, whose comment then
// speaks for them.
func isEnum(d *ast.GenDecl) bool {
	if d.Tok != token.CONST || !d.Lparen.IsValid() || len(d.Specs) == 0 {
		return false
	}
	first, ok := d.Specs[0].(*ast.ValueSpec)
	return ok && first.Type != nil
}

// conventional methods mean the same everywhere.
var conventional = map[string]bool{"Error": true, "Unwrap": true, "Is": true, "String": true, "Len": true, "Less": true, "Swap": true}

// exportedReceiver reports whether a method belongs to an exported type.
func exportedReceiver(recv *ast.FieldList) bool {
	exported := true
	ast.Inspect(recv.List[0].Type, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			exported = exported && id.IsExported()
		}
		return exported
	})
	return exported
}

// Work that is left belongs in an issue, not in a comment.
func TestNoMarkers(t *testing.T) {
	marker := regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|X` + `XX)\b`)
	for _, f := range allSources(t) {
		for _, group := range f.ast.Comments {
			if m := marker.FindString(group.Text()); m != "" {
				t.Errorf("%s: a comment says %s", f.path, m)
			}
		}
	}
}

// A library returns its errors. Only a program, and the main function of a
// package's tests, may end the process.
func TestLibrariesDoNotExit(t *testing.T) {
	for _, f := range allSources(t) {
		if strings.HasPrefix(f.pkg, "cmd/") {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if fn, ok := n.(*ast.FuncDecl); ok && f.test && fn.Name.Name == "TestMain" {
				return false
			}
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			pkg, ok := sel.X.(*ast.Ident)
			if ok && (pkg.Name == "os" && sel.Sel.Name == "Exit" || pkg.Name == "log" && strings.HasPrefix(sel.Sel.Name, "Fatal")) {
				t.Errorf("%s calls %s.%s", f.path, pkg.Name, sel.Sel.Name)
			}
			return true
		})
	}
}
