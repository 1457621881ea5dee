package redact

import (
	"net/url"
	"strings"
	"sync"
)

// class is how strongly a name suggests a secret, in increasing order.
type class uint8

const (
	harmless class = iota
	// sessionName: a session may be a login or only a conversation.
	sessionName
	// keyName: a name that ends in key or auth; a key may also be a map key.
	keyName
	// tokenName: a name that ends in token and does not count tokens.
	tokenName
	// softName: a credential in structured data, but a common word in prose.
	softName
	// strongName: a credential wherever it stands.
	strongName
	// lineName: a header whose value runs to the end of the line.
	lineName
)

// SensitiveName reports whether name, that of a query parameter, map key, flag
// or header, holds a secret. Words are separated by punctuation, blanks and
// camel case; "api_key", "X-API-Key" and "apiKey" are one name. Names that end
// in file, path, dir or env refer to a secret and are not one; names that
// count tokens or name a special token ("time_to_first_token") are not either,
// nor are keys that only identify requests ("Idempotency-Key").
func SensitiveName(name string) bool { return classify(name) != harmless }

// SensitiveHeader reports whether the header called name holds a secret. It is
// wider than [SensitiveName]: a fragment such as "auth" anywhere in the name is
// enough, as in AIPerf. Rate-limit headers count tokens and are kept.
func SensitiveHeader(name string) bool {
	if SensitiveName(name) {
		return true
	}
	lower := strings.ToLower(name)
	if strings.Contains(lower, "ratelimit") {
		return false
	}
	for _, fragment := range [...]string{
		"auth", "token", "secret", "password", "passwd", "credential", "cookie",
		"apikey", "api-key", "api_key", "session", "signature", "sas-key",
		"access-key", "private-key", "subscription-key", "functions-key",
	} {
		if strings.Contains(lower, fragment) {
			return true
		}
	}
	return false
}

// sensitiveQuery reports whether a query, fragment or matrix parameter holds a
// secret; name is as it stands in the URL, percent-encoded or not. OAuth and
// Azure put credentials in a parameter called code.
func sensitiveQuery(name string) bool {
	if strings.ContainsAny(name, "%+") {
		if plain, err := url.QueryUnescape(name); err == nil {
			name = plain
		}
	}
	return SensitiveName(name) || strings.EqualFold(name, "code")
}

// classify splits name into lower-case words and returns the strongest class
// that a word, a pair of words or the last word gives it.
func classify(name string) class {
	var store [160]byte
	buf := store[:0] // the words, joined by underscores
	best, known := harmless, names()
	var before, prev, word int // where the last two words and the one being read begin
	for i := 0; i <= len(name); i++ {
		if (i == len(name) || wordStarts(name, i)) && len(buf) > word {
			best = max(best, known[string(trimDigits(buf[word:]))], known[string(trimDigits(buf[prev:]))])
			before, prev = prev, word
			buf = append(buf, '_')
			word = len(buf)
		}
		if i < len(name) && !isSeparator(name[i]) {
			buf = append(buf, lower(name[i]))
		}
	}
	if len(buf) == 0 {
		return harmless
	}
	last := string(buf[prev : len(buf)-1])
	switch last {
	case "file", "path", "dir", "env":
		return harmless
	case "authorization", "cookie":
		return lineName
	}
	if harmlessNames()[string(buf[before:len(buf)-1])] {
		return best
	}
	return max(best, lastNames[last])
}

// wordStarts reports whether a new word begins, or the last one ended, at i.
func wordStarts(name string, i int) bool {
	c := name[i]
	if isSeparator(c) {
		return true
	}
	if i == 0 || !isUpper(c) {
		return false
	}
	p := name[i-1]
	return isLower(p) || isDigit(p) || isUpper(p) && i+1 < len(name) && isLower(name[i+1])
}

// names are the words, and pairs of words joined by underscores, that have a class wherever they stand
// in a name. Digits at their end do not count.
var names = sync.OnceValue(func() map[string]class {
	out := map[string]class{}
	for class, list := range map[class]string{
		strongName: `authorization cookie password passwd passphrase secret jwt
			apikey apikeys apitoken accesskey accesstoken authtoken bearertoken
			refreshtoken idtoken sessiontoken privatekey secretkey clientsecret
			subscriptionkey functionskey accesskeyid awsaccesskeyid
			api_key access_key private_key subscription_key functions_key
			api_keys access_keys private_keys subscription_keys functions_keys
			auth_token api_token access_token bearer_token id_token refresh_token security_token session_token
			csrf_token xsrf_token private_token hf_token
			auth_tokens api_tokens access_tokens bearer_tokens refresh_tokens`,
		softName:    `pwd credential credentials signature sig bearer sas cookies passwords secrets`,
		sessionName: `sessionid jsessionid phpsessid session_id`,
	} {
		for name := range strings.FieldsSeq(list) {
			out[name] = class
		}
	}
	return out
})

// lastNames are the words that have a class at the end of a name.
var lastNames = map[string]class{"token": tokenName, "key": keyName, "auth": keyName, "session": sessionName}

// harmlessNames are the ends of names that are none of these: token is a unit of text in first_token,
// and a special token in eos_token.
var harmlessNames = sync.OnceValue(func() map[string]bool {
	out := map[string]bool{}
	for last, list := range map[string]string{
		"_key": `idempotency cache sort primary foreign partition public`,
		"_token": `first second last next inter per output input prompt completion reasoning generated total max min
			num draft accepted cached eos bos pad unk mask stop special image audio`,
	} {
		for name := range strings.FieldsSeq(list) {
			out[name+last] = true
		}
	}
	return out
})

func trimDigits(word []byte) []byte {
	for len(word) > 0 && isDigit(word[len(word)-1]) {
		word = word[:len(word)-1]
	}
	return word
}

func lower(c byte) byte {
	if isUpper(c) {
		return c | 0x20
	}
	return c
}

func isLower(c byte) bool { return 'a' <= c && c <= 'z' }
func isUpper(c byte) bool { return 'A' <= c && c <= 'Z' }
func isDigit(c byte) bool { return '0' <= c && c <= '9' }
func isAlnum(c byte) bool { return isLower(c|0x20) || isDigit(c) }

// isSeparator: everything in ASCII that is neither letter nor digit; other
// bytes belong to letters.
func isSeparator(c byte) bool { return c < 0x80 && !isAlnum(c) }

// isReference reports whether value only names the place of a secret:
// ${NAME}, ${env:NAME}, ${secret:NAME} or ${file:PATH}. With a default value
// behind the name it is no mere reference.
func isReference(value string) bool {
	name, ok := strings.CutPrefix(value, "${")
	if !ok || !strings.HasSuffix(name, "}") {
		return false
	}
	name = name[:len(name)-1]
	for _, kind := range [...]string{"env:", "secret:", "file:"} {
		if rest, ok := strings.CutPrefix(name, kind); ok {
			return isToken(strings.ReplaceAll(rest, "/", "_"))
		}
	}
	return isToken(name)
}
