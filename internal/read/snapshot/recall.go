package snapshot

import "github.com/itemize/itemize/internal/model/item"

// NoteOther notes an item that was read and is none of the entity's.
func (s *Snapshot) NoteOther(f *item.Image) {
	s.Unmanaged = append(s.Unmanaged, Other{f.Place, f.Kind, f.Header, f.Size})
}

// Images returns the items that are known to be stored, each once, including hidden items and items of
// others. The images have no content, but the data that plans need to predict the cost of reading them.
func (s *Snapshot) Images() []item.Image {
	var all []item.Image
	noted := map[item.Place]bool{}
	for i, stored := range s.Items {
		for _, r := range stored {
			all = append(all, item.Image{Place: r.Place, Header: r.Header, Kind: s.Model.Schema.Items[i], Size: r.Size})
		}
	}
	for _, o := range s.Unmanaged {
		if !noted[o.Place] {
			noted[o.Place] = true
			all = append(all, item.Image{Place: o.Place, Header: o.Header, Kind: o.Kind, Size: o.Size})
		}
	}
	return all
}
