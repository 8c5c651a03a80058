package profiles

// Secret says where a secret is read from when it is needed: either a file or an environment variable. The secret itself is never in a profile, so that
// profiles, results and process arguments may be shown to anybody.
type Secret struct{ File, Env string }

// The schemes of credentials, and the ACLs of the znodes that a run creates.
const (
	SASL   = "sasl"   // DIGEST-MD5, which ZooKeeper's server requires with a JAAS file
	Digest = "digest" // addauth

	ACLWorld   = "world"
	ACLShared  = "shared"
	ACLCreator = "creator"
)

// SessionNumber in the user name of a credential stands for the number of the session: 0 for the administrative session, 1 for the first of a load.
const SessionNumber = "{session}"

// Credential is one identity that every session presents or, with only File set, a file that lists some.
type Credential struct {
	Scheme   string // SASL or Digest; "" with File
	User     string // may contain SessionNumber
	Password Secret // of User
	Whole    Secret // instead of User and Password: USER:PASSWORD
	File     string // a file with one line SCHEME USER:PASSWORD per credential
}

// TLS says how connections are encrypted.
type TLS struct {
	CA         string // file with the certificates of the authorities that sign the servers'; SystemCA: those that this machine trusts
	Cert, Key  string // of the client; Cert may be a directory of NAME.pem and NAME.key files, which the sessions use in turn
	ServerName string // name that the servers' certificates must be for; "": the host of each address
	Resume     bool   // resume TLS sessions if the server can
}

// SystemCA as the CA stands for the certificates that this machine trusts.
const SystemCA = "system"
