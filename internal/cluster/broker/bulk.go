//go:build !nobus

package broker

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"aiperfd/internal/cluster/bus"
)

// Bulk data is an object store of NATS. Who may only read it gets its messages one by one: that needs no consumer, and
// so none of the subjects with which consumers are made and deleted.
const (
	chunk = 512 << 10 // bytes of a message
	// kept is how long bulk data is kept on a server that outlives the daemon.
	kept = 24 * time.Hour
	// maxRead is how long one message may take before it is asked for again.
	maxRead = 5 * time.Second
)

// bucketOf returns the name of the object store.
func bucketOf(prefix string) string {
	return strings.ReplaceAll(withPrefix(prefix, "aiperfd"), ".", "_")
}

// directGet returns the subject on which messages of an object store are asked for.
func directGet(bucket string) string { return "$JS.API.DIRECT.GET.OBJ_" + bucket }

// Put implements bus.Bus. It does what the object store of the client library does, but waits for each message: the
// library leaves a goroutine behind, now and then, after it has sent several at once (nats.go 1.55.0).
func (c *conn) Put(ctx context.Context, name string, content io.Reader) error {
	ctx, cancel := bus.WithPatience(ctx)
	defer cancel()
	switch {
	case !bus.ValidName(name):
		return bus.ErrName
	case !c.permissions.Put:
		return bus.ErrDenied
	}
	bucket := bucketOf(c.prefix)
	_, err := c.stream.CreateOrUpdateObjectStore(ctx, jetstream.ObjectStoreConfig{Bucket: bucket, TTL: kept})
	if errors.Is(err, jetstream.ErrJetStreamNotEnabled) || errors.Is(err, nats.ErrNoResponders) {
		return ErrNoBulk
	}
	if err != nil {
		return fmt.Errorf("open the bulk data of the bus: %w", translated(err))
	}
	object := &jetstream.ObjectInfo{Bucket: bucket, NUID: rand.Text(), ObjectMeta: jetstream.ObjectMeta{Name: name}}
	obsolete := object.NUID // of chunks that nothing refers to
	defer func() { c.purge(ctx, bucket, obsolete) }()
	if err := c.putChunks(ctx, object, content); err != nil {
		return fmt.Errorf("store %s on the bus: %w", name, translated(err))
	}
	before, err := c.object(ctx, bucket, name)
	if err != nil && !errors.Is(err, bus.ErrNotFound) {
		return fmt.Errorf("store %s on the bus: %w", name, err)
	}
	text, err := json.Marshal(object)
	if err != nil {
		return fmt.Errorf("store %s on the bus: %w", name, err)
	}
	meta := nats.NewMsg(metaOf(bucket, name))
	meta.Header.Set(jetstream.MsgRollup, jetstream.MsgRollupSubject) // it replaces the one before
	meta.Data = text
	if _, err := c.stream.PublishMsg(ctx, meta); err != nil {
		return fmt.Errorf("store %s on the bus: %w", name, translated(err))
	}
	obsolete = before.NUID
	return nil
}

// putChunks stores the chunks of an object, and notes their number, size and digest.
func (c *conn) putChunks(ctx context.Context, object *jetstream.ObjectInfo, content io.Reader) error {
	digest, buffer := sha256.New(), make([]byte, chunk)
	for {
		n, err := io.ReadFull(content, buffer)
		if n > 0 {
			digest.Write(buffer[:n])
			if _, err := c.stream.Publish(ctx, chunksOf(object.Bucket, object.NUID), buffer[:n]); err != nil {
				return err
			}
			object.Chunks++
			object.Size += uint64(n)
		}
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			object.Digest = jetstream.GetObjectDigestValue(digest)
			return ctx.Err()
		case err != nil:
			return err
		}
	}
}

// purge removes chunks that nothing refers to; nuid may be empty. It is tried once: they have an end in any case.
func (c *conn) purge(ctx context.Context, bucket, nuid string) {
	if nuid == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), maxRead)
	defer cancel()
	stream, err := c.stream.Stream(ctx, "OBJ_"+bucket)
	if err == nil {
		err = stream.Purge(ctx, jetstream.WithPurgeSubject(chunksOf(bucket, nuid)))
	}
	if err != nil {
		c.log.Warn().Err(err).Msg("remove old bulk data from the bus")
	}
}

// metaOf and chunksOf return the subjects of an object: of what is known of it, and of its chunks.
func metaOf(bucket, name string) string {
	return "$O." + bucket + ".M." + base64.URLEncoding.EncodeToString([]byte(name))
}

func chunksOf(bucket, nuid string) string { return "$O." + bucket + ".C." + nuid }

// object returns what is known of an object.
func (c *conn) object(ctx context.Context, bucket, name string) (jetstream.ObjectInfo, error) {
	m, err := c.read(ctx, directGet(bucket)+"."+metaOf(bucket, name), nil)
	if err != nil {
		return jetstream.ObjectInfo{}, err
	}
	var object jetstream.ObjectInfo
	if err := json.Unmarshal(m.Data, &object); err != nil || object.Deleted {
		return jetstream.ObjectInfo{}, bus.ErrNotFound
	}
	return object, nil
}

// Get implements bus.Bus. A connection that breaks delays it: it goes on with the chunk that is missing.
func (c *conn) Get(ctx context.Context, name string, to io.Writer) error {
	ctx, cancel := bus.WithPatience(ctx)
	defer cancel()
	if !bus.ValidName(name) {
		return bus.ErrName
	}
	bucket := bucketOf(c.prefix)
	object, err := c.object(ctx, bucket, name)
	if err != nil {
		return err
	}
	digest, size, next := sha256.New(), uint64(0), uint64(1)
	for range object.Chunks {
		question := fmt.Sprintf(`{"seq":%d,"next_by_subj":%q}`, next, chunksOf(bucket, object.NUID))
		m, err := c.read(ctx, directGet(bucket), []byte(question))
		if err != nil {
			return err
		}
		at, err := strconv.ParseUint(m.Header.Get(jetstream.SequenceHeader), 10, 64)
		if err != nil || at < next {
			return bus.ErrDamaged
		}
		next = at + 1
		digest.Write(m.Data)
		size += uint64(len(m.Data))
		if _, err := to.Write(m.Data); err != nil {
			return err
		}
	}
	if size != object.Size || jetstream.GetObjectDigestValue(digest) != object.Digest {
		return bus.ErrDamaged
	}
	return nil
}

// read asks for a message of the object store until it comes or the context ends.
func (c *conn) read(ctx context.Context, subject string, question []byte) (*nats.Msg, error) {
	for attempt := 1; ; attempt++ {
		one, cancel := context.WithTimeout(ctx, maxRead)
		m, err := c.nats.RequestWithContext(one, subject, question)
		cancel()
		switch err = translated(err); {
		case err == nil && m.Header.Get("Status") == "":
			return m, nil
		case err == nil, errors.Is(err, bus.ErrNoReceiver):
			return nil, bus.ErrNotFound // there is no such message, or no object store
		case errors.Is(err, bus.ErrClosed):
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(pause(attempt)):
		}
	}
}
