import time, collections
import omnigraph
from support import harbor
from support.faulty_s3 import FaultyS3

def test_count(s3_root, s3_faults):
    t=time.time(); graph = harbor.new_graph(s3_root); print("new", time.time()-t)
    g = harbor.open_with_short_leases(s3_root)
    for i in range(4):
        for op in ("load","mut"):
            n=len(s3_faults.seen); t=time.time()
            if op=="load":
                g.load(harbor.lines([harbor.sailor(f"x{i}", age=i), harbor.edge("Mentors","Ana",f"x{i}", id=f"e{i}")]), mode="merge")
            else:
                with g.write() as b:
                    b.update("Sailor", {"age": 30+i}, ids=["Ana"])
                    b.delete("Mentors", ids=[f"e{i}"])
            dt=time.time()-t
            seen=s3_faults.seen[n:]
            print(op, len(seen), round(dt,2), collections.Counter(s.method for s in seen))
            if i==3:
                for s in seen: print("   ", s.method, s.path[-110:], s.headers.get("range"), s.is_conditional)
