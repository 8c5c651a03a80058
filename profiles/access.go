package profiles

// Secret says where a secret is read from when it is needed: one of a file and an environment variable. The secret itself is never in a
// profile, so that profiles, results and process arguments may be shown to anybody.
type Secret struct{ File, Env string }

// The schemes of credentials, and the ACLs of what a run makes.
const (
	SASL   = "sasl"   // DIGEST-MD5, as ZooKeeper's server with a JAAS file asks for it
	Digest = "digest" // addauth

	ACLWorld   = "world"
	ACLShared  = "shared"
	ACLCreator = "creator"
)

// SessionNumber in the user name of a credential stands for the number of the session: 0 for the administrative one, 1 for the first of a load.
const SessionNumber = "{session}"

// Credential is one identity that every session presents, or with File alone a file that lists some.
type Credential struct {
	Scheme   string // SASL or Digest; "" with File
	User     string // may contain SessionNumber
	Password Secret // of User
	Whole    Secret // instead of User and Password: USER:PASSWORD
	File     string // a file with a line SCHEME USER:PASSWORD for each credential
}

// TLS says how connections are encrypted.
type TLS struct {
	CA         string // file with the certificates that the servers' are signed by; SystemCA: those of this machine
	Cert, Key  string // of the client; Cert may be a directory of NAME.pem and NAME.key, which the sessions use in turn
	ServerName string // that the servers' certificates have to be for; "": the host of each address
	Resume     bool   // TLS sessions, where the server can
}

// SystemCA as the CA stands for the certificates that this machine trusts.
const SystemCA = "system"
