package main

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	markdown "github.com/yuin/goldmark/text"
)

// brokenLinks returns the links between pages that lead nowhere: to a missing file, or to a missing heading of a page.
func (r *repository) brokenLinks(root string) []string {
	anchors := map[string]map[string]bool{}
	for _, p := range r.pages {
		anchors[p.file] = headings(p.body)
	}
	var out []string
	for _, p := range r.pages {
		for _, link := range links(p.body) {
			if strings.Contains(link, "://") || strings.HasPrefix(link, "mailto:") {
				continue
			}
			file, anchor, _ := strings.Cut(link, "#")
			target := p.file
			if file != "" {
				target = path.Join(path.Dir(p.file), file)
			}
			if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(target))); err != nil {
				out = append(out, fmt.Sprintf("%s: the link %s: %s is missing", p.file, link, target))
			} else if anchor != "" && anchors[target] != nil && !anchors[target][anchor] {
				out = append(out, fmt.Sprintf("%s: the link %s: %s has no such heading", p.file, link, target))
			}
		}
	}
	return out
}

func parseMarkdown(body []byte) ast.Node {
	return goldmark.New(goldmark.WithExtensions(extension.GFM)).Parser().Parse(markdown.NewReader(body))
}

// links returns the destinations of links and images.
func links(body []byte) []string {
	var out []string
	_ = ast.Walk(parseMarkdown(body), func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		switch n := n.(type) {
		case *ast.Link:
			if entering {
				out = append(out, string(n.Destination))
			}
		case *ast.Image:
			if entering {
				out = append(out, string(n.Destination))
			}
		}
		return ast.WalkContinue, nil
	})
	return out
}

var notInAnchors = regexp.MustCompile(`[^\p{L}\p{N} _-]`)

// headings returns the anchors that GitHub gives the headings of a page.
func headings(body []byte) map[string]bool {
	out := map[string]bool{}
	_ = ast.Walk(parseMarkdown(body), func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if h, ok := n.(*ast.Heading); ok && entering {
			var title strings.Builder
			_ = ast.Walk(h, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
				if t, ok := n.(*ast.Text); ok && entering {
					title.Write(t.Segment.Value(body))
				}
				return ast.WalkContinue, nil
			})
			anchor := notInAnchors.ReplaceAllString(strings.ToLower(title.String()), "")
			out[strings.ReplaceAll(anchor, " ", "-")] = true
		}
		return ast.WalkContinue, nil
	})
	return out
}
