package redact_test

import (
	"strings"
	"testing"

	"aiperfd/internal/engine/redact"
)

func TestSensitiveName(t *testing.T) {
	secret := `authorization Authorization AUTHORIZATION proxy-authorization x-api-key api-key api_key apiKey APIKey API_KEY
		apikey openaiApiKey OPENAI_API_KEY api.key ocp-apim-subscription-key x-goog-api-key x-functions-key aeg-sas-key
		x-amz-security-token cookie set-cookie Set-Cookie2 x-auth-token x-access-token x-session-token x-csrf-token x-xsrf-token
		key token access_token auth_token bearer_token id_token refresh_token secret client_secret password passwd
		credential access_key_id awsaccesskeyid AWSAccessKeyId sig signature x-amz-signature x-amz-credential
		x-goog-signature x-goog-credential subscription-key auth jwt pwd private_token session session_id sessionId
		hf-token hfToken passphrase PASSWORD_2 db.password X-Acme-Token sas private-key api_keys credentials
		admin_token developer-token api_key_env_value secretKeyRef jsessionid`
	for name := range strings.FieldsSeq(secret) {
		if !redact.SensitiveName(name) {
			t.Errorf("SensitiveName(%q) = false, want true", name)
		}
		if !redact.SensitiveHeader(name) {
			t.Errorf("SensitiveHeader(%q) = false, want true", name)
		}
	}
	harmless := `max_tokens max_completion_tokens tokens token_count tokenCount output-tokens-mean outputTokens tokenizer
		tokenizer-revision monkey keyboard keys_per_second time_to_first_token timeToFirstToken time_to_second_token
		output_token_throughput_per_user energy_per_output_token eos_token pad_token max_token total_token
		author authored session-header num_sessions session-turns-mean sessions url model X-User-Email
		auth-token-file api_key_file apiKeyFile secret_path credentials-dir API_KEY_ENV code decode signal design
		sigma keypoint compass passages-mean Idempotency-Key cache_key public-key endpoint.url use-server-token-count`
	for name := range strings.FieldsSeq(harmless) {
		if redact.SensitiveName(name) {
			t.Errorf("SensitiveName(%q) = true, want false", name)
		}
	}
	if redact.SensitiveName("") || redact.SensitiveName("--") {
		t.Error("a name without letters is sensitive")
	}
}

func TestSensitiveHeader(t *testing.T) {
	for _, name := range []string{"X-Tokenish", "X-Session-Affinity", "X-OAuthInfo", "My-Passwords", "XSecretly"} {
		if !redact.SensitiveHeader(name) {
			t.Errorf("SensitiveHeader(%q) = false, want true", name)
		}
	}
	for _, name := range []string{"Content-Type", "X-User-Email", "X-Request-Id", "X-Tenant", "X-RateLimit-Remaining-Tokens", "Accept", "User-Agent"} {
		if redact.SensitiveHeader(name) {
			t.Errorf("SensitiveHeader(%q) = true, want false", name)
		}
	}
}
