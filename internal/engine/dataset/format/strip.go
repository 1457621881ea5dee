package format

import (
	"crypto/sha256"
	"encoding/hex"

	"aiperfd/internal/engine/bench"
	"aiperfd/internal/engine/dataset/source"
	"aiperfd/internal/engine/media"
)

// manyImages is how many images of conversations are remembered at least.
const manyImages = 1 << 16

// imageKey is an image that a conversation has sent.
type imageKey struct{ session, uuid string }

// strip gives the images of a turn their keys, and takes the content of those that an earlier turn of the conversation
// has sent. Of an image that the turn has twice, both contents are sent: a server may read all images of a request
// before it keeps one.
func (r *row) strip(t *bench.Turn, sent *source.Recent[imageKey, struct{}]) {
	list := r.media[media.ClassImage].list
	var fresh []imageKey
	for i := range list {
		if list[i].uuid == "" {
			sum := sha256.Sum256([]byte(list[i].text))
			list[i].uuid = hex.EncodeToString(sum[:16])
		}
		m := &t.Images[i]
		m.UUID = list[i].uuid
		key := imageKey{r.session, m.UUID}
		if _, known := sent.Get(key); known && r.session != "" {
			list[i].text, m.URL, m.Data = "", "", nil
		} else if list[i].text != "" {
			fresh = append(fresh, key)
		}
	}
	for _, key := range fresh {
		sent.Set(key, struct{}{})
	}
}
