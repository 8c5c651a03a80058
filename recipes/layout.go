package recipes

// Layout defines the names of a recipe's children: what precedes the guid, what separates guid and marker, the marker, and then the number that the server appends.
type Layout struct {
	Name   string // in profiles; the library that writes this layout
	Before string // before the guid: '_c_'
	After  string // after it: '-'
	Marker string // before the number: 'lock-'; in a read/write lock that of a writer
	Shared string // in a read/write lock the marker of a reader
	Revoke string // in a read/write lock what is written to a znode to revoke its grant
	Dashed bool   // the guid is written as a UUID with dashes
}

// The supported layouts, each named after the library that uses it. Queues are read in all of them, so that clients of different libraries may
// contend; but Curator and kazoo do not understand each other's, as the interoperation tests show.
var (
	LayoutGoZookeeper = Layout{Name: "go-zookeeper", Before: "_c_", After: "-", Marker: "lock-"}
	LayoutCurator     = Layout{Name: "curator", Before: "_c_", After: "-", Marker: "lock-", Dashed: true}
	LayoutKazoo       = Layout{Name: "kazoo", Marker: "__lock__"}
)

// Layouts lists the layouts of locks, the default first.
var Layouts = []Layout{LayoutGoZookeeper, LayoutCurator, LayoutKazoo}

// The layouts of read/write locks. In the articles' layout, [host]-R-number, our guid replaces the host's name: two clients of one host could not
// tell their znodes apart after a lost reply.
var (
	LayoutReadWriteCurator = Layout{Name: "curator", Before: "_c_", After: "-", Marker: "__WRIT__", Shared: "__READ__",
		Revoke: "__REVOKE__", Dashed: true}
	LayoutReadWriteKazoo   = Layout{Name: "kazoo", Marker: "__lock__", Shared: "__rlock__", Revoke: "unlock"}
	LayoutReadWriteArticle = Layout{Name: "article", Marker: "-W-", Shared: "-R-", Revoke: "unlock"}
)

// ReadWriteLayouts lists the layouts of read/write locks, the default first.
var ReadWriteLayouts = []Layout{LayoutReadWriteCurator, LayoutReadWriteKazoo, LayoutReadWriteArticle}

// SemaphoreLayouts lists the layouts of semaphores' locks, the default first; a lease has its own marker. kazoo's semaphore has no queue of leases.
var SemaphoreLayouts = []Layout{LayoutGoZookeeper, LayoutCurator}

// The layouts of elections: Apache Curator's LeaderLatch, and the recipe page with a guid before its name.
var (
	LayoutLatch        = Layout{Name: "curator", Before: "_c_", After: "-", Marker: "latch-", Dashed: true}
	LayoutElectionPage = Layout{Name: "recipe-page", After: "-", Marker: "n_"}
)

// ElectionLayouts lists the layouts of elections, the default first.
var ElectionLayouts = []Layout{LayoutLatch, LayoutElectionPage}
